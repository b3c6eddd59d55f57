// SPDX-License-Identifier: GPL-2.0
// What browser_report.py does in the page, as a reader would: by clicks, drags and keys.

const settle = () => new Promise(done => setTimeout(done, 80));
const texts = row => [...row.cells].map(c => c.textContent);
const shown = e => e.offsetParent !== null;

// Pixels of each run's colour on the canvas: a chart whose lines are missing has none
function pixels(c) {
	const canvas = c.box.querySelector("canvas"), copy = document.createElement("canvas");
	copy.width = canvas.width;
	copy.height = canvas.height;
	const g = copy.getContext("2d", { willReadFrequently: true });
	g.drawImage(canvas, 0, 0);
	const data = g.getImageData(0, 0, copy.width, copy.height).data;
	const found = {};
	for (const run of new Set(c.lines.map(l => l.run))) {
		const hex = colour(report.runs[run].colour), want = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
		let n = 0;
		for (let i = 0; i < data.length; i += 4)
			n += data[i + 3] > 200 && Math.abs(data[i] - want[0]) + Math.abs(data[i + 1] - want[1]) + Math.abs(data[i + 2] - want[2]) < 40;
		found[run] = n;
	}
	return found;
}

const look = () => all.map(c => ({ id: c.spec.id, pixels: pixels(c), axes: c.u.axes.map(a => a.label) }));
const summary = () => [...document.querySelector("table.summary").tBodies[0].rows].filter(shown).map(texts);
const xs = () => timed().map(c => [c.u.scales.x.min, c.u.scales.x.max]);

function mouse(over, type, share, more = {}) {
	const box = over.getBoundingClientRect();
	(type === "mouseup" ? document : over).dispatchEvent(new MouseEvent(type, {
		bubbles: true, view: window, clientX: box.left + share * box.width, clientY: box.top + 60, ...more }));
}

function type(id, text) {
	const e = document.getElementById(id);
	e.value = text;
	e.dispatchEvent(new Event("change"));
}

// Every chart by each of its buttons: [name, type, contents]
async function save() {
	const made = [], named = [], keep = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
	URL.createObjectURL = blob => (made.push(blob), "blob:none");
	HTMLAnchorElement.prototype.click = function () { named.push(this.download); };
	for (const b of document.querySelectorAll(".save button")) {
		const before = named.length;
		b.click();
		for (let i = 0; named.length === before && i < 100; i++)
			await settle();
	}
	URL.createObjectURL = keep;
	HTMLAnchorElement.prototype.click = click;
	return Promise.all(made.map(async (blob, i) => [named[i], blob.type, btoa([...new Uint8Array(await blob.arrayBuffer())].map(c => String.fromCharCode(c)).join(""))]));
}

async function quick() {
	await settle();
	return { charts: look(), summary: summary(), text: document.body.innerText };
}

async function everything() {
	const out = await quick();
	out.saved = await save();
	out.resources = performance.getEntriesByType("resource").map(e => e.name);

	const box = document.querySelector("[data-toggle='0']");
	box.click();
	await settle();
	out.without = look();
	out.rows_without = summary().map(r => r[0]);
	box.click();
	await settle();
	out.again = look();

	const rate = all.find(c => c.spec.id === "rate");
	out.line = { before: rate.u.series[1].show };
	rate.box.querySelectorAll(".u-legend .u-series")[1].querySelector("th").click();
	await settle();
	out.line.after = rate.u.series[1].show;
	out.line.others = rate.u.series.slice(2).map(s => s.show);
	rate.box.querySelectorAll(".u-legend .u-series")[1].querySelector("th").click();

	const over = all[0].u.over;
	mouse(over, "mouseenter", 0.25);
	mouse(over, "mousemove", 0.25);
	mouse(over, "mousedown", 0.25, { button: 0, buttons: 1 });
	for (const share of [0.3, 0.4, 0.5])
		mouse(over, "mousemove", share, { buttons: 1, movementX: 5 });
	mouse(over, "mouseup", 0.5, { button: 0 });
	await settle();
	out.zoomed = { x: xs(), wanted: [0.25, 0.5].map(s => s * 300), inputs: ["zoom-from", "zoom-to"].map(id => document.getElementById(id).value) };
	mouse(over, "dblclick", 0.5);
	await settle();
	out.reset = xs();
	type("zoom-from", "10");
	type("zoom-to", "20");
	await settle();
	out.typed = xs();
	document.querySelector("[data-zoom=out]").click();
	await settle();
	out.wider = xs();
	document.querySelector("[data-zoom=all]").click();
	await settle();

	mouse(over, "mousemove", 0.37);
	await settle();
	out.hover = [...all[0].box.querySelectorAll(".u-legend .u-value")].map(e => e.textContent);

	out.bins = [...document.querySelectorAll("table.bins")].map(t => [t.caption.textContent, [...t.tBodies[0].rows].map(texts)]);
	const took = [...flows.table.tHead.rows[0].cells].find(c => c.textContent === "took");
	took.click();
	out.flows = [];
	for (;;) {
		out.flows.push(...[...flows.body.rows].map(texts));
		const page = flows.page;
		[...document.querySelectorAll("#flows button")].pop().click();
		if (flows.page === page)
			break;
	}
	flows.search.value = "bolt s6";
	flows.search.dispatchEvent(new Event("input"));
	out.found = [...flows.body.rows].map(texts);

	out.theme = { before: getComputedStyle(document.body).backgroundColor };
	document.getElementById("theme").click();
	await settle();
	out.theme.after = getComputedStyle(document.body).backgroundColor;
	out.theme.drawn = all.map(c => Math.min(...Object.values(pixels(c))) > 20);
	return out;
}
