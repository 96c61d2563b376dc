import { attr, h, visible } from "./dom.js";

const COLORS = 8;
const MOST_SECONDS = 120;
const STEP = 30;
const open = new Set();

const probe = h("span", { hidden: true });

/** A color of the style sheet, as it is in this theme: a canvas knows no variables. */
function style(name) {
  if (!probe.isConnected) {
    document.body.append(probe);
  }
  probe.style.color = "var(" + name + ")";
  return getComputedStyle(probe).color;
}

/** The name of a color of lines, for styles. */
export function color(index) {
  return "--chart-" + (index % COLORS);
}

/**
 * A chart of lines over the last minutes. `set(times, series, words)`: series are {label, values,
 * color, dashed, unnamed, right}, the color by number; words describe it to users who do not
 * see it. `unnamed` ones are drawn, but have no entry in the legend. `right` names a second axis, for
 * series that are no part of the first.
 */
export function lines(id, label, { percent = false, unit = "", right = null, height = 220 } = {}) {
  const canvas = h("canvas", { role: "img", "aria-label": label, "data-testid": id });
  const root = h("div", { class: "chart" }, canvas);
  root.style.minHeight = height + "px";
  let chart = null;
  let last = null;

  function build() {
    const muted = style("--muted");
    const grid = style("--line");
    chart = new window.Chart(canvas, {
      type: "line",
      data: { labels: [], datasets: [] },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        normalized: true,
        interaction: { mode: "index", intersect: false },
        elements: { point: { radius: 0, hitRadius: 6 }, line: { borderWidth: 2, tension: 0 } },
        scales: {
          x: {
            type: "linear",
            max: 0,
            border: { color: grid },
            grid: { display: false },
            ticks: {
              color: muted,
              maxRotation: 0,
              maxTicksLimit: 5,
              callback: (value) => (value === 0 ? "now" : value + " s"),
            },
          },
          y: {
            beginAtZero: true,
            suggestedMax: percent ? 50 : 1,
            border: { display: false },
            grid: { color: grid },
            ticks: {
              color: muted,
              maxTicksLimit: 5,
              callback: (value) => value.toLocaleString("en") + (percent ? " %" : unit),
            },
          },
          ...(right && {
            right: {
              position: "right",
              beginAtZero: true,
              suggestedMax: 4,
              title: { display: true, text: right, color: muted },
              border: { display: false },
              grid: { display: false },
              ticks: { color: muted, maxTicksLimit: 5, precision: 0 },
            },
          }),
        },
        plugins: {
          legend: {
            position: "bottom",
            align: "start",
            labels: {
              color: style("--text"),
              boxWidth: 14,
              boxHeight: 2,
              padding: 14,
              filter: (item, { datasets }) => !datasets[item.datasetIndex].unnamed,
            },
          },
          tooltip: {
            filter: (item) => !item.dataset.unnamed,
            callbacks: {
              title: (items) => Math.round(-items[0].parsed.x) + " s ago",
              label: (item) =>
                " " +
                item.dataset.label +
                ": " +
                Math.round(item.parsed.y * 10) / 10 +
                (item.dataset.yAxisID === "right" ? "" : percent ? " %" : unit),
            },
          },
        },
      },
    });
  }

  root.set = (times, series, words) => {
    last = [times, series, words];
    attr(canvas, "aria-label", words ? label + ". " + words : label);
    if (!window.Chart) {
      return;
    }
    if (!chart) {
      build();
    }
    const now = times[times.length - 1] ?? 0;
    const seconds = (now - (times[0] ?? now)) / 1_000;
    chart.options.scales.x.min = -Math.min(
      MOST_SECONDS,
      Math.max(STEP, Math.ceil(seconds / STEP) * STEP),
    );
    const colors = series.map((each, i) => style(color(each.color ?? i)));
    chart.data.datasets = series.map((each, i) => ({
      label: visible(each.label),
      unnamed: Boolean(each.unnamed),
      data: each.values.map((y, at) => ({ x: (times[at] - now) / 1_000, y })),
      borderColor: colors[i],
      backgroundColor: colors[i],
      borderDash: each.dashed ? [4, 4] : [],
      borderWidth: each.dashed ? 1.5 : 2,
      yAxisID: each.right ? "right" : "y",
    }));
    chart.update("none");
  };
  root.redraw = () => {
    chart?.destroy();
    chart = null;
    if (last) {
      root.set(...last);
    }
  };
  root.destroy = () => {
    open.delete(root);
    chart?.destroy();
    chart = null;
  };
  open.add(root);
  return root;
}

/** In other colors, after the theme has changed. */
export function redraw() {
  open.forEach((each) => each.redraw());
}
