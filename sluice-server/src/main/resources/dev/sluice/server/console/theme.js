// Before the first paint, so that nothing flashes: a choice made earlier, or what the system prefers.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("sluice-theme");
  } catch {
    // Storage may be switched off; then the system decides.
  }
  if (chosen === "light" || chosen === "dark") {
    document.documentElement.dataset.theme = chosen;
  }
})();
