// Draws each plot from the table below it, in the colors that the reader's system asks for.
(() => {
  'use strict';
  const LINES = 8;
  const HEADROOM = 1.05;
  const SHORTEST = 0.01; // seconds; shorter waits are drawn as this
  const TICKS = 9;
  const NICE = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800, 1209600, 2592000]; // seconds
  const main = document.querySelector('main');
  const step = Number(main.dataset.step);
  const start = Number(main.dataset.start);
  const figures = [...document.querySelectorAll('figure')].map(figure => {
    const table = figure.querySelector('table');
    const rows = [...table.tBodies[0].rows];
    const lines = [...table.tHead.rows[0].cells].slice(1).map((head, i) => ({
      name: head.textContent,
      dashed: 'dashed' in head.dataset,
      values: rows.map(row => {
        const text = row.cells[i + 1].textContent;
        return text === '' ? null : Number(text);
      }),
    }));
    return {
      canvas: figure.querySelector('canvas'),
      scale: figure.dataset.scale,
      isWait: 'wait' in figure.dataset,
      times: rows.map(row => row.cells[0].textContent),
      lines,
      most: Math.max(0, ...lines.flatMap(line => line.values)),
    };
  });

  // Plots that are to be compared have the same height.
  const highest = new Map();
  for (const each of figures) {
    highest.set(each.scale, Math.max(highest.get(each.scale) ?? 0, each.most));
  }

  // Times of day that are round, and not too many.
  const steps = figures.length ? figures[0].times.length : 0;
  const between = NICE.find(each => each >= step && steps * step / each <= TICKS) ?? steps * step;
  const time = (value, i) => (start + i * step) % between < step ? figures[0].times[i] : null;

  function seconds(value) {
    return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toLocaleString('en')} s`;
  }

  function verticalAxis(figure, color) {
    const axis = {
      ticks: { color: color('--soft'), maxTicksLimit: 6 },
      grid: { color: color('--rule') },
      border: { display: false },
    };
    if (!figure.isWait) {
      return { ...axis, beginAtZero: true };
    }
    axis.ticks.callback = value => (Number.isInteger(Math.log10(value)) ? seconds(value) : null);
    return {
      ...axis,
      type: 'logarithmic',
      min: SHORTEST,
      suggestedMax: Math.max(1, highest.get(figure.scale) * HEADROOM),
    };
  }

  // A value without neighbors is no line: it is a point.
  function alone(context) {
    const values = context.dataset.data;
    const i = context.dataIndex;
    const lonely = (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
    return lonely ? 2 : 0;
  }

  let charts = [];
  function draw() {
    charts.forEach(chart => chart.destroy());
    const style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue(name).trim();
    charts = figures.map(figure => new Chart(figure.canvas, {
      type: 'line',
      data: {
        labels: figure.times,
        datasets: figure.lines.map((line, i) => ({
          label: line.name,
          data: figure.isWait
            ? line.values.map(value => (value === null ? null : Math.max(SHORTEST, value)))
            : line.values,
          borderColor: line.dashed ? color('--soft') : color(`--c${(i % LINES) + 1}`),
          backgroundColor: line.dashed ? color('--soft') : color(`--c${(i % LINES) + 1}`),
          borderDash: line.dashed ? [5, 4] : [],
          borderWidth: line.dashed ? 1.5 : 2,
          pointRadius: alone,
          pointHitRadius: 8,
          spanGaps: false,
          tension: 0,
        })),
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        color: color('--ink'),
        interaction: { mode: 'index', intersect: false },
        scales: {
          x: {
            ticks: {
              color: color('--soft'),
              autoSkip: false,
              maxRotation: 0,
              callback: time,
            },
            grid: { display: false },
            border: { color: color('--rule') },
          },
          y: verticalAxis(figure, color),
        },
        plugins: {
          tooltip: {
            callbacks: {
              label: item => {
                const value = figure.lines[item.datasetIndex].values[item.dataIndex];
                const shown = figure.isWait ? seconds(value) : value.toLocaleString('en');
                return ` ${item.dataset.label}: ${shown}`;
              },
            },
          },
          legend: {
            position: 'bottom',
            labels: { color: color('--ink'), boxWidth: 14, boxHeight: 2, padding: 12 },
          },
        },
      },
    }));
  }

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.locale = 'en';
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
})();
