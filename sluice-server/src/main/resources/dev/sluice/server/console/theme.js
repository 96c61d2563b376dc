// Before the first paint, so that nothing flashes: the stored choice, or the preference of the system.
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
