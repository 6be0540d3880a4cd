// The table of ambiguous objects, and the labels of all objects as a file.
const PAGE = 20;
const COLUMNS = [
  { name: "object", value: (row) => data.objects.id[row], text: true },
  { name: "cluster", value: (row) => data.objects.cluster[row], shown: (value) => data.names[value], swatch: true },
  {
    name: "runner-up",
    value: (row) => data.objects.rival[row],
    shown: (value) => (value < 0 ? "–" : data.names[value]),
    swatch: true,
  },
  { name: "confidence", value: (row) => data.objects.confidence[row], shown: (value) => fixed(value, 3) },
  {
    name: "members that agree",
    value: (row) => data.objects.agree[row],
    shown: (value, row) => `${value} of ${data.objects.known[row]}`,
  },
];
const view = { column: 3, falling: false, page: 0 };

function chosenRows() {
  const find = byId("find").value.trim().toLowerCase();
  const cluster = byId("in-cluster").value;
  const { value, text } = COLUMNS[view.column];
  const collator = new Intl.Collator("en", { numeric: true });
  const rows = data.objects.id
    .map((_, row) => row)
    .filter(
      (row) =>
        (!find || data.objects.id[row].toLowerCase().includes(find)) &&
        (cluster === "" || data.objects.cluster[row] === Number(cluster)),
    );
  const order = text ? (a, b) => collator.compare(value(a), value(b)) : (a, b) => value(a) - value(b);
  return rows.sort((a, b) => (view.falling ? -order(a, b) : order(a, b)) || a - b);
}

function cell(column, row) {
  const value = column.value(row);
  const made = element(column.text ? "th" : "td");
  if (column.text) made.scope = "row";
  if (column.swatch && value >= 0) {
    const swatch = element("span", undefined, { class: "swatch" });
    swatch.style.background = clusterColour(value);
    made.append(swatch);
  }
  made.append(column.shown ? column.shown(value, row) : value);
  return made;
}

function drawTable() {
  const rows = chosenRows();
  view.page = Math.max(0, Math.min(view.page, Math.ceil(rows.length / PAGE) - 1));
  const part = rows.slice(view.page * PAGE, (view.page + 1) * PAGE);
  byId("object-table").tBodies[0].replaceChildren(
    ...part.map((row) => {
      const line = element("tr");
      line.append(...COLUMNS.map((column) => cell(column, row)));
      return line;
    }),
  );
  byId("shown").textContent = rows.length
    ? `${counted(view.page * PAGE + 1)} to ${counted(view.page * PAGE + part.length)} of ${counted(rows.length)}`
    : "nothing found";
  byId("previous").disabled = view.page === 0;
  byId("next").disabled = (view.page + 1) * PAGE >= rows.length;
  byId("object-table")
    .querySelectorAll("thead th")
    .forEach((head, place) => {
      head.setAttribute("aria-sort", place !== view.column ? "none" : view.falling ? "descending" : "ascending");
    });
}

function sortBy(place) {
  view.falling = place === view.column ? !view.falling : false;
  view.column = place;
  view.page = 0;
  drawTable();
}

function makeTable() {
  const n = data.objects.id.length;
  byId("objects-box").hidden = n === 0;
  byId("objects-told").textContent = tableCaption(n);
  if (n === 0) return;
  const heads = COLUMNS.map(({ name }, place) => {
    const head = element("th", undefined, { scope: "col" });
    const button = element("button", name, { type: "button" });
    button.addEventListener("click", () => sortBy(place));
    head.append(button);
    return head;
  });
  byId("object-table").tHead.rows[0].append(...heads);
  const used = [...new Set(data.objects.cluster)].sort((a, b) => a - b);
  byId("in-cluster").append(...used.map((cluster) => element("option", data.names[cluster], { value: cluster })));
  const again = () => {
    view.page = 0;
    drawTable();
  };
  byId("find").addEventListener("input", again);
  byId("in-cluster").addEventListener("change", again);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  drawTable();
}

function turn(step) {
  view.page += step;
  drawTable();
}

/** Draws the table of clusters for the stop of the slider; only the consensus itself has confidence and stability. */
function drawClusterTable() {
  const { clusters, sizes, densities } = stop();
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const order = clusters.map((_, place) => place).sort((one, other) => sizes[other] - sizes[one] || one - other);
  const lines = order.slice(0, data.rows_of_tables).map((place) => {
    const cluster = clusters[place];
    const head = element("th", undefined, { scope: "row" });
    const swatch = element("span", undefined, { class: "swatch", "data-swatch": cluster });
    swatch.style.background = clusterColour(cluster);
    head.append(swatch, element("span", data.names[cluster]));
    const numbers = [
      counted(sizes[place]),
      `${((100 * sizes[place]) / total).toFixed(1)}%`,
      fixed(isOwn() ? data.clusterConfidence[cluster] : null),
      fixed(isOwn() ? data.clusterStability[cluster] : null),
      fixed(densities[place]),
    ];
    const line = element("tr");
    line.append(head, ...numbers.map((text) => element("td", text)));
    return line;
  });
  if (order.length > lines.length) {
    const more = element("tr");
    more.append(element("td", `and ${counted(order.length - lines.length)} more clusters`, { colspan: 6 }));
    lines.push(more);
  }
  byId("cluster-table").tBodies[0].replaceChildren(...lines);
}

function tableCaption(n) {
  if (n === 0) return `No object has a confidence below ${data.ambiguous}.`;
  const all = data.n_ambiguous;
  const some =
    all > n ? `The ${counted(n)} least certain of ${counted(all)} ambiguous objects` : plural(all, "ambiguous object");
  return `${some}. The table shows the cluster of each object, the runner-up by votes of the members, and how many of the members that label the object agree with its cluster.`;
}

// What a spreadsheet takes for a formula, unless it is a number.
const FORMULA = /^'*[=+\-@\t\r\n]/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const harmless = (text) =>
  byId("safe-cells").checked && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const decimal = (millionths) => (millionths % 1e6 === 0 ? `${millionths / 1e6}.0` : String(millionths / 1e6));

/** Returns the labels of all objects at the stop of the slider: 0 for no label, else 1 + cluster. */
async function stopLabels() {
  const entry = data.download.stops[state.stop];
  if (!isOwn() && !entry.merged) return integers(entry);
  const labels = await integers(data.download.labels);
  return isOwn() ? labels : labels.map((label) => label && entry.merged[label - 1] + 1);
}

/** Returns the labels at the stop of the slider as CSV, in the form of `save_labels`; only the consensus itself has a confidence. */
async function labelsAsCsv() {
  const { download } = data;
  const labels = await stopLabels();
  const ids = download.ids ? await identifiers(download.ids) : null;
  const confidence = isOwn() && download.confidence ? await integers(download.confidence) : null;
  const numbered = !ids && data.has_ids;
  const lines = [
    [...(ids ? [quoted(harmless(data.id_name))] : numbered ? ["row"] : []), "label", ...(confidence ? ["confidence"] : [])].join(","),
  ];
  const names = data.names.map((name) => quoted(harmless(name)));
  for (let row = 0; row < download.n; row += 1) {
    const first = ids ? `${quoted(harmless(ids[row]))},` : numbered ? `${row},` : "";
    const last = confidence ? `,${labels[row] ? decimal(confidence[row]) : ""}` : "";
    lines.push(`${first}${labels[row] ? names[labels[row] - 1] : ""}${last}`);
  }
  return `${lines.join("\n")}\n`;
}

async function saveLabels() {
  const link = element("a", undefined, { download: `labels-${stop().k}-clusters.csv` });
  link.href = URL.createObjectURL(new Blob([await labelsAsCsv()], { type: "text/csv" }));
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function tellDownload() {
  const { download } = data;
  const there = isOwn() ? download.labels : download.stops[state.stop];
  byId("download").disabled = !there;
  const left = {
    labels: "the labels",
    confidence: "the confidence",
    ids: "the ids (rows are numbered in their order instead)",
  };
  const told = download.left_out.filter((name) => isOwn() || name !== "confidence");
  const missing = told.map((name) => left[name]);
  const verb = told.join() === "confidence" ? "was" : "were";
  const size = `${plural(download.n, "line")}, ${plural(stop().k, "cluster")}${isOwn() ? "" : ", without confidence"}.`;
  byId("download-told").textContent = !there
    ? "These labels are not in this page, because it would become too large. Write them to a file with save_labels."
    : `${size}${missing.length ? ` To keep the page small, ${missing.join(" and ")} ${verb} left out; save_labels writes a file with everything.` : ""}`;
}
