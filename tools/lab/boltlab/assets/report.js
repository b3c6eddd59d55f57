// SPDX-License-Identifier: GPL-2.0
// Charts (drawn by uPlot) that are zoomed together, runs that come and go, the table of flows.
"use strict";
const COLOURS = 8;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const SHOWN_AT_FIRST = 12;		// lines of a chart; more are there to be chosen
const HEIGHT = 300;
const PAGE = 50;
const all = [];				// charts
const hidden = new Set();		// runs
const zooms = [];			// of each panel: [from, to] in the unit of the axis, null for all of it
let current = 0;			// the panel that the bar's buttons move

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = i => css("--c" + i % COLOURS);

// Four digits are what a chart can show, and no 1e+5
function short(v) {
	if (v === null || v === undefined)
		return "–";
	if (v === 0)
		return "0";
	const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(v))));
	return v.toFixed(Math.min(digits, 4));
}

function timesOf(table, spec) {
	const t = table.t;
	if (t.list)
		return t.list.map(v => scaleX(v, spec));
	return Array.from({ length: t[2] }, (_, i) => scaleX(t[0] + i * t[1], spec));
}

const scaleX = (v, spec) => spec.x === "time" ? v / report.time.div : spec.x === "queue" ? v / spec.x_div : v;
const AXIS = { size: "message size, bytes", slowdown: "FCT slowdown" };

function size(v) {
	return v >= 1e6 ? +(v / 1e6).toPrecision(3) + " MB" : v >= 1e3 ? +(v / 1e3).toPrecision(3) + " KB" : v + " B";
}

function Chart(spec) {
	this.spec = spec;
	this.box = document.getElementById("chart-" + spec.id);
	this.lines = spec.tables.flatMap(t => t.lines);
	const several = new Set(this.lines.map(l => l.run)).size > 1;
	const seen = {};
	this.lines.forEach((l, i) => {
		const nth = seen[l.run] = (seen[l.run] ?? -1) + 1;
		const run = report.runs[l.run], byRun = several || spec.x === "size";
		l.colour = byRun ? run.colour : i;
		l.dash = DASHES[(byRun ? run.dash + nth : Math.floor(i / COLOURS)) % DASHES.length];
		l.on = this.lines.length <= SHOWN_AT_FIRST || nth < SHOWN_AT_FIRST / report.runs.length;
	});
	const tables = spec.tables.map(t => [timesOf(t, spec), ...t.lines.map(l => l.v.map(v => v / spec.div))]);
	this.joined = tables.length > 1;
	this.data = this.joined ? uPlot.join(tables) : tables[0];
	this.bounds = [this.data[0][0], this.data[0][this.data[0].length - 1]];
	if (this.lines.length > SHOWN_AT_FIRST)
		this.choose();
	this.build();
	this.offer();
}

// Too many lines for one look
Chart.prototype.choose = function () {
	const row = this.box.appendChild(document.createElement("div"));
	row.className = "lines";
	this.count = row.appendChild(document.createElement("span"));
	for (const [text, on] of [["all", true], ["none", false]]) {
		const b = row.appendChild(document.createElement("button"));
		b.textContent = text;
		b.onclick = () => { this.lines.forEach(l => { l.on = on; }); this.apply(); };
	}
};

Chart.prototype.visible = function (i) {
	return this.lines[i].on && !hidden.has(this.lines[i].run);
};

Chart.prototype.apply = function () {
	this.applying = true;
	this.lines.forEach((l, i) => this.u.setSeries(i + 1, { show: this.visible(i) }));
	this.applying = false;
	this.said();
};

Chart.prototype.said = function () {
	if (this.count)
		this.count.textContent = this.lines.filter((_, i) => this.visible(i)).length + " of " + this.lines.length + " lines shown:";
};

Chart.prototype.build = function () {
	const spec = this.spec, time = spec.x === "time", log = spec.x === "size" || spec.x === "slowdown";
	const show = v => v === null ? "–" : time ? short(v) + " " + report.time.unit : spec.x === "size" ? size(v) : short(v) + " " + (spec.x_unit ?? "x");
	const axis = { stroke: () => css("--soft"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 },
		font: "12px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif" };
	// the same axis once more, on the other side
	const inBdp = spec.bdp ? spec.bdp / (spec.x_div ?? spec.div) : 0;
	const old = this.u;
	const opts = {
		width: this.width(), height: HEIGHT,
		padding: [14, time && !inBdp && report.charts.some(c => c.bdp) ? 22 + 64 : 22, 0, 0],	// times stand below each other
		cursor: { drag: { x: time, y: false, setScale: false }, points: { size: 6 }, focus: { prox: 24 },
			sync: time ? { key: "time-" + spec.panel, setSeries: false, scales: ["x", null], filters: { pub: type => type === "mousemove" || type === "mouseleave" } } : undefined,
			bind: { dblclick: () => () => { if (time) setZoom(null, spec.panel); } } },
		legend: { markers: { width: 3, stroke: (u, i) => i ? colour(this.lines[i - 1].colour) : null,
			dash: (u, i) => i && this.lines[i - 1].dash.length ? this.lines[i - 1].dash[0] < 3 ? "dotted" : "dashed" : "solid" } },
		scales: {
			x: { time: false, distr: log ? 3 : 1, range: (u, lo, hi) => this.xRange(lo, hi) },
			y: spec.x === "size" ? { distr: 3, range: (u, lo, hi) => [Math.min(1, lo ?? 1), Math.max(2, (hi ?? 1) * 1.2)] }
				: { range: (u, lo, hi) => [0, spec.unit === "%" ? 100 : (hi || 1) * 1.06] },
			bdp: inBdp ? { from: spec.x === "queue" ? "x" : "y", range: (u, lo, hi) => [lo / inBdp, hi / inBdp] } : {},
		},
		axes: [
			{ ...axis, label: time ? "time, " + report.time.unit : AXIS[spec.x] ?? "queue, " + spec.x_unit, labelSize: 22, size: 34,
				values: (u, vals) => vals.map(v => v === null ? "" : spec.x === "size" ? size(v) : +v.toPrecision(8)) },
			{ ...axis, label: spec.what + (spec.unit === "x" ? "" : ", " + spec.unit), labelSize: 24, size: 58,
				values: (u, vals) => vals.map(v => v === null ? "" : +v.toPrecision(6)) },
			...(inBdp ? [{ ...axis, scale: "bdp", side: spec.x === "queue" ? 0 : 1, label: "BDP", grid: { show: false }, space: 60, labelSize: 20, size: spec.x === "queue" ? 26 : 44,
				values: (u, vals) => vals.map(v => v === null ? "" : +v.toPrecision(4)) }] : []),
		],
		series: [
			{ label: time ? "at" : spec.x === "size" ? "up to" : spec.x, value: (u, v) => show(v) },
			...this.lines.map((l, i) => ({
				label: l.label, show: this.visible(i), stroke: colour(l.colour), dash: l.dash, width: 1.5, spanGaps: this.joined,
				paths: spec.unit === "%" ? uPlot.paths.stepped({ align: 1 }) : undefined,
				points: { show: spec.x === "size", size: 6 },
				value: (u, v) => v === null || v === undefined ? "–" : short(v) + (spec.unit === "x" ? " x" : " " + spec.unit),
			})),
		],
		hooks: {
			setSelect: [u => this.selected(u)],
			setSeries: [(u, i) => this.chosen(i)],
			draw: time ? [u => this.drawMarks(u)] : [],
		},
	};
	this.u = new uPlot(opts, this.data, this.box);
	if (old)
		old.destroy();
	this.legendOfRuns();
	this.said();
};

Chart.prototype.width = function () {
	return Math.max(300, this.box.clientWidth);
};

Chart.prototype.xRange = function (lo, hi) {
	if (this.spec.x === "time")
		return zooms[this.spec.panel] ?? timeBounds(this.spec.panel);
	if (this.spec.x === "queue")
		return [0, (hi || 1) * 1.05];
	return this.spec.x === "slowdown" ? [Math.min(1, lo ?? 1), (hi ?? 2) * 1.05] : [(lo ?? 1) * 0.8, (hi ?? 10) * 1.25];
};

Chart.prototype.selected = function (u) {
	if (u.select.width < 4)
		return;
	setZoom([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")], this.spec.panel);
	u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
};

// A click into the legend
Chart.prototype.chosen = function (i) {
	if (i === null || !this.u || this.applying)
		return;
	this.lines.forEach((l, k) => {
		if (!hidden.has(l.run))
			l.on = this.u.series[k + 1].show;
	});
	this.said();
};

// The legend leaves out the lines of runs that are off: a click there would do nothing
Chart.prototype.legendOfRuns = function () {
	this.box.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
		if (i)
			row.classList.toggle("gone", hidden.has(this.lines[i - 1].run));
	});
};

Chart.prototype.drawMarks = function (u) {
	const g = u.ctx, box = u.bbox, px = devicePixelRatio || 1;
	g.save();
	g.beginPath();
	g.rect(box.left, box.top, box.width, box.height);
	g.clip();
	g.font = 11 * px + "px system-ui, sans-serif";
	g.strokeStyle = g.fillStyle = css("--soft");
	g.textAlign = "left";
	g.textBaseline = "alphabetic";
	g.setLineDash([2 * px, 3 * px]);
	g.lineWidth = px;
	const ends = [];		// of the texts of each line, so that none covers another
	for (const [t, what] of report.marks) {
		const x = u.valToPos(t * 1e3 / report.time.div, "x", true);
		if (x < box.left || x > box.left + box.width)
			continue;
		g.beginPath();
		g.moveTo(x, box.top);
		g.lineTo(x, box.top + box.height);
		g.stroke();
		const wide = g.measureText(what).width, left = x + wide + 4 * px < box.left + box.width ? x + 4 * px : x - wide - 4 * px;
		let row = 0;
		while (ends[row] > left)
			row++;
		ends[row] = left + wide + 6 * px;
		g.fillText(what, left, box.top + (11 + 13 * row) * px);
	}
	g.restore();
};

// ---- time ----

const timed = () => all.filter(c => c.spec.x === "time");

// Runs of unlike length are in panels, each with a time of its own
function timeBounds(panel) {
	return report.charts.filter(c => c.x === "time" && c.panel === panel).flatMap(c => c.tables).reduce(([lo, hi], { t }) => {
		const list = t.list, ends = list ? [list[0], list[list.length - 1]] : [t[0], t[0] + (t[2] - 1) * t[1]];
		return [Math.min(lo, ends[0] / report.time.div), Math.max(hi, ends[1] / report.time.div)];
	}, [Infinity, -Infinity]);
}

function setZoom(range, panel = current) {
	const [lo, hi] = timeBounds(panel);
	if (range) {
		// one sample is as near as it gets
		const least = Math.max((hi - lo) * 1e-5, 1e-3), middle = (range[0] + range[1]) / 2;
		let half = Math.max(range[1] - range[0], least) / 2;
		range = [Math.max(lo, middle - half), Math.min(hi, middle + half)];
		if (!(range[1] > range[0]) || range[0] <= lo && range[1] >= hi)
			range = null;
	}
	zooms[panel] = range;
	current = panel;
	for (const c of timed().filter(c => c.spec.panel === panel))
		c.u.setData(c.data, true);
	const now = range ?? [lo, hi];
	document.getElementById("zoom-from").value = short(now[0]);
	document.getElementById("zoom-to").value = short(now[1]);
}

function moveZoom(how) {
	const zoom = zooms[current], bounds = timeBounds(current), [lo, hi] = zoom ?? bounds, span = hi - lo, middle = (lo + hi) / 2;
	const half = { in: span / 4, out: span }[how];
	if (half)
		return setZoom([middle - half, middle + half]);
	if (how === "all" || !zoom)
		return setZoom(null);
	const step = how === "left" ? Math.max(-span / 2, bounds[0] - lo) : Math.min(span / 2, bounds[1] - hi);
	setZoom([lo + step, hi + step]);
}

// ---- downloads: what is to be seen of a chart ----

const LEGEND_ROW = 18;
const xml = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" })[c]);

Chart.prototype.offer = function () {
	const row = this.box.parentNode.appendChild(document.createElement("p"));
	row.className = "save hint";
	row.append("Save as ");
	for (const kind of ["SVG", "PNG", "CSV"]) {
		const b = row.appendChild(document.createElement("button"));
		b.textContent = kind;
		b.title = "the lines that are shown, " + (kind === "CSV" ? "all of their points" : "as they are zoomed");
		b.onclick = () => this.save(kind.toLowerCase());
	}
};

Chart.prototype.save = async function (kind) {
	const blob = kind === "csv" ? new Blob([this.csv()], { type: "text/csv" }) : kind === "svg" ? new Blob([this.svg()], { type: "image/svg+xml" }) : await this.png();
	const a = document.createElement("a");
	a.href = URL.createObjectURL(blob);
	a.download = report.name + "-" + this.spec.id + "." + kind;
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 1000);
};

// Times of lines that have none in common leave the others' fields empty
Chart.prototype.csv = function () {
	const spec = this.spec, field = text => /[",\n]/.test(text) ? "\"" + text.replaceAll("\"", "\"\"") + "\"" : text;
	const unit = u => u === "x" || !u ? "" : " (" + u + ")";
	const chosen = this.lines.map((_, i) => i).filter(i => this.visible(i));
	const head = [(spec.x === "time" ? "time" + unit(report.time.unit) : spec.x + unit(spec.x === "size" ? "bytes" : spec.x_unit)), ...chosen.map(i => this.lines[i].label + unit(spec.unit))];
	const lines = [head.map(field).join(",")];
	this.data[0].forEach((x, k) => {
		const values = chosen.map(i => this.data[i + 1][k] ?? "");
		if (values.some(v => v !== ""))
			lines.push([+x.toPrecision(12), ...values.map(v => v === "" ? "" : +v.toPrecision(12))].join(","));
	});
	return lines.join("\n") + "\n";
};

// uPlot has only a canvas, so this draws once more what it laid out: its axes' places and words, its scales
Chart.prototype.svg = function () {
	const u = this.u, spec = this.spec, px = devicePixelRatio || 1;
	const box = { x: u.bbox.left / px, y: u.bbox.top / px + 24, w: u.bbox.width / px, h: u.bbox.height / px };
	const at = (v, scale) => u.valToPos(v, scale, false) + (u.scales[scale].ori ? box.y : box.x);
	const shown = this.lines.filter((_, i) => this.visible(i));
	const height = u.height + 34 + LEGEND_ROW * shown.length, out = [];
	const text = (x, y, what, more = "") => out.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${more}>${xml(what)}</text>`);
	const path = (d, stroke, more = "") => out.push(`<path d="${d}" fill="none" stroke="${stroke}"${more}/>`);
	const soft = css("--soft"), faint = css("--grid");

	text(box.x, 18, spec.title, ` font-size="15" font-weight="600" fill="${css("--ink")}"`);
	u.axes.forEach((a, n) => {
		const across = a.side % 2 === 0, far = a.side === 1 || a.side === 0;
		(a._splits ?? []).forEach((v, k) => {
			const word = a._values?.[k], p = at(v, a.scale);
			if (p < (across ? box.x : box.y) - 1 || p > (across ? box.x + box.w : box.y + box.h) + 1)
				return;
			if (n < 2)
				path(across ? `M${p.toFixed(1)} ${box.y}v${box.h}` : `M${box.x} ${p.toFixed(1)}h${box.w}`, faint);
			if (word === "" || word === null || word === undefined)
				return;
			if (across)
				text(p, far ? box.y - 6 : box.y + box.h + 18, word, ` text-anchor="middle" fill="${soft}"`);
			else
				text(far ? box.x + box.w + 8 : box.x - 8, p + 4, word, ` text-anchor="${far ? "start" : "end"}" fill="${soft}"`);
		});
		const middle = box.y + box.h / 2;
		if (across)
			text(far ? box.x + box.w + 4 : box.x + box.w / 2, far ? box.y - 6 : box.y + box.h + 38, a.label, ` text-anchor="${far ? "start" : "middle"}" fill="${soft}"`);
		else
			out.push(`<text transform="translate(${far ? box.x + box.w + 56 : 14} ${middle}) rotate(-90)" text-anchor="middle" fill="${soft}">${xml(a.label)}</text>`);
	});
	// an svg in the svg cuts off what a zoom leaves outside
	out.push(`<svg x="${box.x}" y="${box.y}" width="${box.w}" height="${box.h}" viewBox="${box.x} ${box.y} ${box.w} ${box.h}">`);
	const [least, greatest] = [u.scales.x.min, u.scales.x.max];
	this.lines.forEach((l, i) => {
		if (!this.visible(i))
			return;
		const xs = this.data[0], ys = this.data[i + 1], points = [];
		for (let k = 0; k < xs.length; k++) {
			if (ys[k] === null || ys[k] === undefined || xs[k + 1] < least || xs[k - 1] > greatest)
				continue;
			const y = at(ys[k], "y").toFixed(2), x = at(xs[k], "x").toFixed(2);
			points.push(points.length && spec.unit === "%" ? `H${x}V${y}` : (points.length ? "L" : "M") + x + " " + y);
		}
		path(points.join(""), colour(l.colour), ` stroke-width="1.5"${l.dash.length ? ` stroke-dasharray="${l.dash.join(" ")}"` : ""}`);
	});
	const ends = [];		// of the marks' texts, as drawMarks() has them
	for (const [t, what] of spec.x === "time" ? report.marks : []) {
		const x = at(t * 1e3 / report.time.div, "x"), wide = 6 * what.length, left = x + wide + 4 < box.x + box.w ? x + 4 : x - wide - 4;
		if (x < box.x || x > box.x + box.w)
			continue;
		let row = 0;
		while (ends[row] > left)
			row++;
		ends[row] = left + wide + 6;
		path(`M${x.toFixed(1)} ${box.y}v${box.h}`, soft, " stroke-dasharray=\"2 3\"");
		text(left, box.y + 11 + 13 * row, what, ` font-size="11" fill="${soft}"`);
	}
	out.push("</svg>");
	shown.forEach((l, k) => {
		const y = u.height + 34 + LEGEND_ROW * k;
		path(`M${box.x} ${y}h26`, colour(l.colour), ` stroke-width="2"${l.dash.length ? ` stroke-dasharray="${l.dash.join(" ")}"` : ""}`);
		text(box.x + 34, y + 4, l.label, ` fill="${css("--ink")}"`);
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${u.width}" height="${height}" viewBox="0 0 ${u.width} ${height}" font-family="sans-serif" font-size="12">` +
		`<rect width="100%" height="100%" fill="${css("--paper")}"/>${out.join("")}</svg>\n`;
};

Chart.prototype.png = async function () {
	const text = this.svg(), image = new Image(), canvas = document.createElement("canvas");
	image.src = "data:image/svg+xml;base64," + btoa(unescape(encodeURIComponent(text)));
	await image.decode();
	canvas.width = 2 * image.width;
	canvas.height = 2 * image.height;
	const g = canvas.getContext("2d");
	g.scale(2, 2);
	g.drawImage(image, 0, 0);
	return new Promise(done => canvas.toBlob(done, "image/png"));
};

// ---- runs ----

function setRun(run, on) {
	on ? hidden.delete(run) : hidden.add(run);
	document.querySelectorAll("[data-run]").forEach(e => e.classList.toggle("off", hidden.has(+e.dataset.run)));
	for (const c of all) {
		c.apply();
		c.legendOfRuns();
	}
	flows?.draw();
}

// ---- flows ----

const ns = v => v === null ? "–" : Math.abs(v) < 1e7 ? (v / 1e3).toFixed(1) + " us" : (v / 1e6).toFixed(2) + " ms";
const FLOW_COLUMNS = [
	["run", (f, i, run) => report.runs[run].label, v => v],
	["flow", (f, i) => f.id[i], v => v],
	["kind", (f, i) => f.kinds[f.kind[i]], v => v],
	["from", (f, i) => f.hosts[f.from[i]], v => v],
	["to", (f, i) => f.hosts[f.to[i]], v => v],
	["start", (f, i) => f.start_ns[i], ns],
	["end", (f, i) => f.end_ns[i], (v, f, i) => v === null && f.stopped_ns[i] !== null ? "stopped" : ns(v)],
	["delivered", (f, i) => f.bytes[i], size],
	["took", (f, i) => f.fct_ns[i], ns],
	["slowdown", (f, i) => f.slowdown[i], v => v === null ? "–" : v.toFixed(2) + " x"],
	["retransmits", (f, i) => f.retransmits[i], v => v],
];

function FlowTable(box) {
	this.box = box;
	this.by = null;
	this.down = false;
	this.page = 0;
	this.text = "";
	this.rows = report.flows.flatMap((f, run) => f.id.map((_, i) => [run, i]));
	const bar = box.appendChild(document.createElement("div"));
	bar.className = "flowbar";
	this.search = bar.appendChild(document.createElement("input"));
	this.search.type = "search";
	this.search.placeholder = "run, kind, host or flow";
	this.search.oninput = () => { this.text = this.search.value.trim().toLowerCase(); this.page = 0; this.draw(); };
	for (const [text, step] of [["◀", -1], ["▶", 1]]) {
		const b = bar.appendChild(document.createElement("button"));
		b.textContent = text;
		b.onclick = () => { this.page += step; this.draw(); };
	}
	this.count = bar.appendChild(document.createElement("span"));
	this.count.className = "count";
	const scroll = box.appendChild(document.createElement("div"));
	scroll.className = "scroll";
	this.table = scroll.appendChild(document.createElement("table"));
	const head = this.table.createTHead().insertRow();
	FLOW_COLUMNS.forEach(([name], k) => {
		const th = head.appendChild(document.createElement("th"));
		th.className = "sort";
		th.textContent = name;
		th.onclick = () => {
			// numbers are looked at from the greatest down, names from the first
			this.down = this.by === k ? !this.down : k > 4;
			this.by = k;
			this.page = 0;
			this.draw();
		};
	});
	this.body = this.table.createTBody();
	this.draw();
}

FlowTable.prototype.matches = function ([run, i]) {
	const f = report.flows[run];
	if (hidden.has(run))
		return false;
	return !this.text || this.text.split(/\s+/).every(word => FLOW_COLUMNS.slice(0, 5).some(([, get], k) => {
		const v = String(get(f, i, run)).toLowerCase();
		return k === 0 || k === 2 ? v.includes(word) : v === word;
	}));
};

FlowTable.prototype.chosen = function () {
	const rows = this.rows.filter(r => this.matches(r));
	if (this.by === null)
		return rows;
	const get = FLOW_COLUMNS[this.by][1], sign = this.down ? -1 : 1;
	const keys = new Map(rows.map(r => [r, get(report.flows[r[0]], r[1], r[0])]));
	// what has no value is last, either way
	return rows.sort((a, b) => {
		const x = keys.get(a), y = keys.get(b);
		if (x === null || y === null)
			return (x === null) - (y === null);
		return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
	});
};

FlowTable.prototype.draw = function () {
	const rows = this.chosen(), pages = Math.max(1, Math.ceil(rows.length / PAGE));
	this.page = Math.min(Math.max(0, this.page), pages - 1);
	const first = this.page * PAGE, shown = rows.slice(first, first + PAGE);
	this.body.replaceChildren(...shown.map(([run, i]) => {
		const tr = document.createElement("tr");
		for (const [, get, text] of FLOW_COLUMNS)
			tr.insertCell().textContent = text(get(report.flows[run], i, run), report.flows[run], i);
		return tr;
	}));
	const left = report.flows.reduce((n, f) => n + f.total - f.id.length, 0);
	this.count.textContent = (rows.length ? first + 1 + " to " + (first + shown.length) + " of " : "") + rows.length + " flows" +
		(left ? "; " + left + " more are in result.json only" : "");
	[...this.table.tHead.rows[0].cells].forEach((th, k) => {
		th.textContent = FLOW_COLUMNS[k][0] + (k === this.by ? this.down ? " ▾" : " ▴" : "");
	});
};

// ---- light and dark ----

function paint() {
	document.querySelectorAll("[data-colour]").forEach(e => { e.style.background = colour(+e.dataset.colour); });
	all.forEach(c => c.build());
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function theme(name) {
	if (name)
		document.documentElement.dataset.theme = name;
	else
		delete document.documentElement.dataset.theme;
	paint();
}

document.getElementById("theme").onclick = () => {
	const now = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
	theme(now === "dark" ? "light" : "dark");
};
dark.addEventListener("change", paint);

let before;
window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; theme("light"); });
window.addEventListener("afterprint", () => theme(before));

// ---- begin ----

report.charts.forEach(spec => all.push(new Chart(spec)));
paint();
const place = document.getElementById("flows");
const flows = place && new FlowTable(place);
document.querySelectorAll("[data-toggle]").forEach(box => {
	box.checked = true;		// a browser that goes back remembers otherwise
	box.onchange = () => setRun(+box.dataset.toggle, box.checked);
});
if (timed().length) {
	document.querySelectorAll("[data-zoom]").forEach(b => { b.onclick = () => moveZoom(b.dataset.zoom); });
	for (const id of ["zoom-from", "zoom-to"])
		document.getElementById(id).onchange = () => setZoom(["zoom-from", "zoom-to"].map(e => parseFloat(document.getElementById(e).value)));
	for (const panel of new Set(timed().map(c => c.spec.panel)))
		setZoom(null, panel);
	current = 0;
	setZoom(null);
}
let resized;
window.addEventListener("resize", () => {
	clearTimeout(resized);
	resized = setTimeout(() => all.forEach(c => c.u.setSize({ width: c.width(), height: HEIGHT })), 60);
});
