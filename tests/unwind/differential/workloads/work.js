// Functions, objects, JSON, regular expressions, sorting with callbacks, zlib, promises.
"use strict";
const zlib = require("zlib");
const crypto = require("crypto");

const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));

class Point {
    constructor(x, y) {
        this.x = x;
        this.y = y;
    }
    get length() {
        return Math.hypot(this.x, this.y);
    }
}

async function once(round) {
    fib(22);
    const points = Array.from({ length: 3000 }, (_, i) => new Point((i * 7919) % 1000, round + i));
    points.sort((a, b) => a.length - b.length || a.y - b.y);
    const text = JSON.stringify(points.map((p) => ({ x: p.x, y: p.y, name: `p${p.x}` })));
    JSON.parse(text);
    text.match(/"x":(\d+),"y":(\d+)/g).map(Number);
    text.replace(/p(\d)/g, (all, digit) => digit + all);
    zlib.inflateSync(zlib.deflateSync(text));
    crypto.createHash("sha256").update(text).digest("hex");
    const groups = new Map();
    for (const p of points) {
        groups.set(p.x % 50, (groups.get(p.x % 50) ?? []).concat(p));
    }
    await Promise.all(points.slice(0, 50).map(async (p) => p.length));
}

(async () => {
    for (let round = 0; round < Number(process.argv[2]); ++round) {
        await once(round);
    }
})();
