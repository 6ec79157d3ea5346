(function () {
  "use strict";

  // Tables: a click on a column's name sorts by it; a second click turns the order. Empty cells stay at the end.
  function sortKey(row, column) {
    var cell = row.cells[column];
    if (cell.classList.contains("none")) return null;
    var given = cell.getAttribute("data-sort");
    var text = given !== null ? given : cell.firstChild ? cell.firstChild.textContent : "";
    var number = Number(text.replace(/,/g, "").replace(/^\+/, "").replace(/^\u2212/, "-"));
    return text.trim() !== "" && !isNaN(number) ? number : text;
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  document.querySelectorAll("main table").forEach(function (table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      head.querySelector("button").addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var body = table.tBodies[0];
        Array.prototype.slice.call(body.rows)
          .map(function (row, index) { return { row: row, index: index, key: sortKey(row, column) }; })
          .sort(function (a, b) {
            if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.index - b.index;
            return (down ? -1 : 1) * compare(a.key, b.key) || a.index - b.index;
          })
          .forEach(function (item) { body.appendChild(item.row); });
      });
    });
  });

  // Charts: as many panels side by side as the sheet has room for.
  function fit(spec, room) {
    var meta = spec.usermeta;
    if (!meta || !meta.panel) return spec;
    var narrow = room < 520;
    var free = room - (narrow ? Math.min(meta.axis, 130) : meta.axis);
    var unit = spec.spec || spec; // a faceted chart keeps its panel in `spec`
    if (typeof spec.columns === "number") {
      spec.columns = Math.max(1, Math.min(spec.columns, Math.floor(free / meta.panel)));
    }
    if (typeof unit.width === "number" && narrow) unit.width = Math.max(150, free - 20);
    else if (typeof unit.width === "number") unit.width = Math.max(150, Math.min(unit.width, free - 20));
    spec.config.header.labelLimit = spec.config.axisX.titleLimit = unit.width;
    if (narrow) spec.config.axis.labelLimit = 115;
    spec.config.legend.columns = Math.max(1, Math.floor(room / 230));
    return spec;
  }
  function draw(host) {
    var spec = JSON.parse(document.getElementById(host.getAttribute("data-spec")).textContent);
    return window.vegaEmbed(host, fit(spec, host.clientWidth), {
      mode: "vega-lite",
      ast: true, // interprets expressions: the page's policy allows no `eval`
      renderer: "svg",
      actions: { export: true, source: false, editor: false, compiled: false },
      downloadFileName: host.getAttribute("data-name"),
      scaleFactor: { png: 3, svg: 1 },
    }).catch(function (error) {
      var message = document.createElement("p");
      message.className = "failed";
      message.textContent = "This chart could not be drawn: " + error.message;
      host.replaceChildren(message);
      console.error(error);
    });
  }
  var hosts = Array.prototype.slice.call(document.querySelectorAll(".plot"));
  hosts.reduce(function (before, host) {
    return before.then(function () { return draw(host); });
  }, Promise.resolve()).then(function () { document.documentElement.setAttribute("data-drawn", String(hosts.length)); });

  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("main details").forEach(function (fold) { fold.open = true; });
  });
})();
