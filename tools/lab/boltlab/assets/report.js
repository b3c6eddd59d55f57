// SPDX-License-Identifier: GPL-2.0
// Line charts on canvas, all zoomed together. No library: the page must open from disk.
"use strict";
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333", "#8c6d31"];
const PAD = { left: 58, right: 12, top: 10, bottom: 30 };
const all = [];
let zoom = null;

function niceStep(span, count) {
	const raw = span / count, scale = Math.pow(10, Math.floor(Math.log10(raw)));
	for (const m of [1, 2, 5, 10])
		if (m * scale >= raw)
			return m * scale;
	return raw;
}

function Chart(spec) {
	this.spec = spec;
	this.box = document.getElementById("chart-" + spec.id);
	this.canvas = this.box.appendChild(document.createElement("canvas"));
	this.tip = this.box.appendChild(document.createElement("div"));
	this.tip.className = "tip";
	this.legend = this.box.appendChild(document.createElement("div"));
	this.legend.className = "legend";
	this.hidden = new Set();
	spec.lines.forEach((line, i) => {
		const b = this.legend.appendChild(document.createElement("button"));
		b.innerHTML = "<i></i>";
		b.firstChild.style.background = COLOURS[i % COLOURS.length];
		b.append(line.label);
		b.onclick = () => {
			this.hidden.has(i) ? this.hidden.delete(i) : this.hidden.add(i);
			b.classList.toggle("off");
			this.draw();
		};
	});
	this.canvas.onmousedown = e => { this.from = this.timeAt(e); };
	this.canvas.onmousemove = e => { this.to = this.timeAt(e); this.hover(e); };
	this.canvas.onmouseleave = () => { this.tip.style.display = "none"; };
	window.addEventListener("mouseup", () => {
		if (this.from !== undefined && Math.abs(this.to - this.from) > this.span() / 100) {
			zoom = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
			all.forEach(c => c.draw());
		}
		this.from = undefined;
		this.draw();
	});
	this.canvas.ondblclick = () => { zoom = null; all.forEach(c => c.draw()); };
}

Chart.prototype.range = function () {
	if (zoom)
		return zoom;
	let lo = Infinity, hi = -Infinity;
	for (const c of all)
		for (const l of c.spec.lines)
			if (l.t.length) {
				lo = Math.min(lo, l.t[0]);
				hi = Math.max(hi, l.t[l.t.length - 1]);
			}
	return [lo, hi];
};

Chart.prototype.span = function () { const r = this.range(); return r[1] - r[0]; };

Chart.prototype.timeAt = function (e) {
	const r = this.range(), w = this.canvas.clientWidth - PAD.left - PAD.right;
	return r[0] + (e.offsetX - PAD.left) / w * (r[1] - r[0]);
};

Chart.prototype.draw = function () {
	const c = this.canvas, dpr = window.devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
	c.width = w * dpr;
	c.height = h * dpr;
	const g = c.getContext("2d");
	g.scale(dpr, dpr);
	g.clearRect(0, 0, w, h);
	const [t0, t1] = this.range();
	let top = 0;
	this.spec.lines.forEach((l, i) => {
		if (!this.hidden.has(i))
			l.t.forEach((t, k) => { if (t >= t0 && t <= t1 && l.v[k] > top) top = l.v[k]; });
	});
	top = top * 1.05 || 1;
	const x = t => PAD.left + (t - t0) / (t1 - t0) * (w - PAD.left - PAD.right);
	const y = v => h - PAD.bottom - v / top * (h - PAD.top - PAD.bottom);
	g.font = "12px system-ui, sans-serif";
	g.strokeStyle = "#dfe3e8";
	g.fillStyle = "#5d6673";
	g.lineWidth = 1;
	g.textAlign = "right";
	const ys = niceStep(top, 5);
	for (let v = 0; v <= top; v += ys) {
		g.beginPath();
		g.moveTo(PAD.left, y(v));
		g.lineTo(w - PAD.right, y(v));
		g.stroke();
		g.fillText(+v.toPrecision(4), PAD.left - 8, y(v) + 4);
	}
	g.textAlign = "center";
	const xs = niceStep(t1 - t0, 8);
	for (let t = Math.ceil(t0 / xs) * xs; t <= t1; t += xs)
		g.fillText(+t.toPrecision(6), x(t), h - PAD.bottom + 16);
	g.textAlign = "right";
	g.fillText("us", w - PAD.right, h - 2);
	g.save();
	g.translate(12, PAD.top + (h - PAD.top - PAD.bottom) / 2);
	g.rotate(-Math.PI / 2);
	g.textAlign = "center";
	g.fillText(this.spec.unit, 0, 0);
	g.restore();
	g.save();
	g.beginPath();
	g.rect(PAD.left, 0, w - PAD.left - PAD.right, h - PAD.bottom + 1);
	g.clip();
	this.spec.lines.forEach((l, i) => {
		if (this.hidden.has(i))
			return;
		g.strokeStyle = COLOURS[i % COLOURS.length];
		g.lineWidth = 1.3;
		g.beginPath();
		l.t.forEach((t, k) => k ? g.lineTo(x(t), y(l.v[k])) : g.moveTo(x(t), y(l.v[k])));
		g.stroke();
	});
	g.textAlign = "left";
	g.lineWidth = 1;
	g.setLineDash([2, 3]);
	for (const [t, what] of marks) {
		g.strokeStyle = "#9aa3ad";
		g.beginPath();
		g.moveTo(x(t), PAD.top);
		g.lineTo(x(t), h - PAD.bottom);
		g.stroke();
		g.fillStyle = "#7a838e";
		g.fillText(what, x(t) + 4, PAD.top + 10);
	}
	g.setLineDash([]);
	if (this.from !== undefined && this.to !== undefined) {
		g.fillStyle = "rgba(0, 114, 178, .12)";
		g.fillRect(x(Math.min(this.from, this.to)), 0, Math.abs(x(this.to) - x(this.from)), h);
	}
	g.restore();
};

function valueAt(line, t) {
	let lo = 0, hi = line.t.length - 1;
	if (hi < 0 || t < line.t[0] || t > line.t[hi])
		return null;
	while (hi - lo > 1) {
		const mid = (lo + hi) >> 1;
		line.t[mid] <= t ? lo = mid : hi = mid;
	}
	return line.v[lo];
}

Chart.prototype.hover = function (e) {
	if (this.from !== undefined)
		this.draw();
	const t = this.timeAt(e), rows = [t.toFixed(1) + " us"];
	this.spec.lines.forEach((l, i) => {
		const v = this.hidden.has(i) ? null : valueAt(l, t);
		if (v !== null)
			rows.push(l.label + ": " + (+v.toPrecision(4)) + " " + this.spec.unit);
	});
	this.tip.textContent = rows.join("\n");
	this.tip.style.display = "block";
	const left = e.offsetX > this.canvas.clientWidth / 2 ? e.offsetX - this.tip.offsetWidth - 14 : e.offsetX + 14;
	this.tip.style.left = left + "px";
	this.tip.style.top = e.offsetY + "px";
};

charts.forEach(spec => all.push(new Chart(spec)));
all.forEach(c => c.draw());
window.addEventListener("resize", () => all.forEach(c => c.draw()));
