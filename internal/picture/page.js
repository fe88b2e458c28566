"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const { texts, frames, stacks, snapshots, methods, trusts, reasons, kind } = data;
  const count = (n, what) => n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s");

  // h makes an element. Text never becomes markup.
  function h(tag, props, ...children) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(props || {})) {
      if (k === "scope" || k === "colspan") e.setAttribute(k, v); else e[k] = v;
    }
    e.append(...children.filter((c) => c !== null && c !== ""));
    return e;
  }

  // Frames and nodes. The parent of a node has a lower number.
  const methodOf = (f) => frames.how[f] >> 4;
  const trustOf = (f) => (frames.how[f] >> 2) & 3;
  const nameOf = (f) => texts[frames.name[f]];
  const pcs = frames.pc.split(" ");
  const marks = ["", "~ ", "? "];
  const nodes = data.nodes;
  const parents = Int32Array.from(data.parents, (back, i) => i - back);
  const depths = new Int32Array(nodes.length);
  for (let i = 1; i < nodes.length; i++) depths[i] = depths[parents[i]] + 1;

  // brief leaves the arguments of a function and of its templates out of its name.
  function brief(name) {
    if (name.length < 24 || name.includes("operator")) return name;
    let short = "", depth = 0;
    for (let i = 0; i < name.length; i++) {
      const c = name[i];
      if (c === "<" && depth++ === 0) short += "<…>";
      else if (c === ">" && depth > 0) depth--;
      else if (depth === 0 && c === "(" && i > 0 && !/^\((anonymous|\*|lambda)/.test(name.slice(i, i + 10))) break;
      else if (depth === 0) short += c;
    }
    return depth === 0 ? short : name;
  }

  // framesOf returns the frames of a node, the innermost first, up to a number.
  function framesOf(node, most = Infinity) {
    const list = [];
    for (; node > 0 && list.length < most; node = parents[node]) list.push(nodes[node]);
    return list;
  }

  // Groups are equal stacks that end for the same reason, of threads in the same
  // state. Crashed threads come first and alone, then the largest group.
  const crashed = new Set(stacks.crash || []);
  let groups = [];
  let total = 0;
  const groupOf = new Int32Array(stacks.node ? stacks.node.length : 0).fill(-1);

  function group(first, end) {
    const found = new Map();
    groups = [];
    total = end - first;
    groupOf.fill(-1);
    for (let i = first; i < end; i++) {
      const key = stacks.node[i] + "/" + stacks.reason[i] + "/" + stacks.state[i] + (crashed.has(i) ? "/" + i : "");
      let g = found.get(key);
      if (!g) {
        found.set(key, (g = { node: stacks.node[i], reason: stacks.reason[i], state: stacks.state[i], crashed: crashed.has(i), members: [] }));
        groups.push(g);
      }
      g.members.push(i);
    }
    groups.sort((a, b) => b.crashed - a.crashed || b.members.length - a.members.length);
    groups.forEach((g, at) => { for (const i of g.members) groupOf[i] = at; });
  }

  // The tree merges stacks by the names of their functions. Its boxes are columns.
  // Box 0 is the root. levels has the boxes of each depth from left to right.
  let tree, levels;
  const weights = new Int32Array(nodes.length); // how many stacks go through a node

  function plant() {
    tree = { name: [-1], frame: [-1], parent: [-1], depth: [0], weight: [total], trust: [0], cut: [false], crashed: [false], x: [0], end: [-1] };
    const known = new Map();
    const box = (parent, name, frame, weight, cut) => {
      const key = parent * (texts.length + reasons.length) + name;
      let b = known.get(key);
      if (b === undefined) {
        known.set(key, (b = tree.name.length));
        tree.name.push(name); tree.frame.push(frame); tree.parent.push(parent); tree.depth.push(tree.depth[parent] + 1);
        tree.weight.push(0); tree.trust.push(0); tree.cut.push(cut); tree.crashed.push(false); tree.x.push(0);
        tree.end.push(frame < 0 ? name - texts.length : -1);
      }
      tree.weight[b] += weight;
      return b;
    };
    // Stacks of each end have boxes of their own. Parents come before their children.
    const boxes = new Int32Array(nodes.length), heaviest = [];
    weights.fill(0);
    for (const reason of new Set(groups.map((g) => g.reason))) {
      const chosen = groups.filter((g) => g.reason === reason);
      const own = new Int32Array(nodes.length), crash = new Uint8Array(nodes.length);
      for (const g of chosen) {
        own[g.node] += g.members.length;
        crash[g.node] |= g.crashed;
      }
      for (let n = nodes.length - 1; n > 0; n--) {
        own[parents[n]] += own[n];
        crash[parents[n]] |= crash[n];
      }
      boxes[0] = reason < 0 ? 0 : box(0, texts.length + reason, -1, own[0], true);
      for (let n = 1; n < nodes.length; n++) {
        if (!own[n]) continue;
        const f = nodes[n], b = (boxes[n] = box(boxes[parents[n]], frames.name[f], f, own[n], reason >= 0));
        weights[n] += own[n];
        if (own[n] > (heaviest[b] || 0)) { heaviest[b] = own[n]; tree.frame[b] = f; }
        tree.trust[b] = Math.max(tree.trust[b], trustOf(f));
        if (crash[n]) tree.crashed[b] = true;
      }
      for (const g of chosen) g.box = boxes[g.node];
    }
    // Lists of children: the first of each box, and the next of its parent.
    const first = new Int32Array(tree.name.length), next = new Int32Array(tree.name.length);
    for (let b = tree.name.length - 1; b > 0; b--) {
      next[b] = first[tree.parent[b]];
      first[tree.parent[b]] = b;
    }
    levels = [[0]];
    for (let level = levels[0]; level.length; ) {
      const below = [];
      for (const b of level) {
        const start = below.length;
        let x = tree.x[b];
        for (let child = first[b]; child; child = next[child]) below.push(child);
        if (below.length - start > 1) {
          const sorted = below.slice(start).sort((a, c) => tree.weight[c] - tree.weight[a] || a - c);
          sorted.forEach((child, i) => { below[start + i] = child; });
        }
        for (let i = start; i < below.length; i++) { tree.x[below[i]] = x; x += tree.weight[below[i]]; }
      }
      if (below.length) levels.push(below);
      level = below;
    }
  }

  const within = (b, ancestor) => tree.x[b] >= tree.x[ancestor] && tree.x[b] < tree.x[ancestor] + tree.weight[ancestor];

  const markOf = (b) => (tree.frame[b] < 0 ? "" : marks[tree.trust[b]]);

  function boxName(b) {
    if (b === 0) return "all: " + count(total, kind);
    if (tree.end[b] >= 0) return "stopped: " + reasons[tree.end[b]];
    return markOf(b) + texts[tree.name[b]];
  }

  // groupsIn returns the groups whose stacks go through a box.
  function groupsIn(b) {
    return groups.filter((g) => {
      let at = g.box;
      while (tree.depth[at] > tree.depth[b]) at = tree.parent[at];
      return at === b;
    });
  }

  // The picture.
  const ROW = 19, FONT = 12;
  const view = $("view"), canvas = $("canvas"), tip = $("tip"), pen = canvas.getContext("2d");
  let width = 0, zoom = 0, chosen = 0, hover = -1, colour = "method", palette = null, charWidth = 7;
  let hits = null; // by text: 1 if the search finds it

  function readPalette() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    palette = {
      method: methods.map((m) => get("--m-" + m) || "#aaa"), trust: trusts.map((t) => get("--t-" + t)),
      text: get("--box-text"), gap: get("--gap"), root: get("--root"), bad: get("--bad"), accent: get("--accent"), stripe: get("--stripe"),
    };
    const tile = h("canvas", { width: 8, height: 8 }), t = tile.getContext("2d");
    t.strokeStyle = palette.stripe;
    t.lineWidth = 2;
    t.beginPath();
    for (const d of [-4, 4, 12]) { t.moveTo(d - 6, 10); t.lineTo(d + 6, -2); }
    t.stroke();
    palette.stripes = pen.createPattern(tile, "repeat");
  }

  function fill(b) {
    if (b === 0 || tree.frame[b] < 0) return palette.root;
    return colour === "trust" ? palette.trust[tree.trust[b]] : palette.method[methodOf(tree.frame[b])];
  }

  const isHit = (b) => tree.frame[b] >= 0 && (hits[tree.name[b]] || hits[frames.file[tree.frame[b]]] || hits[frames.module[tree.frame[b]]]);

  // fit shortens a name to a width: what is in brackets goes first, then the
  // namespaces, then the end.
  function fit(name, space) {
    const room = Math.floor((space - 8) / charWidth);
    if (name.length <= room) return name;
    if (room < 3) return "";
    let short = brief(name);
    if (short.length > room) {
      const tail = short.split("::").slice(-2).join("::");
      if (tail.length <= room) short = tail;
    }
    return short.length <= room ? short : short.slice(0, room - 1) + "…";
  }

  // place returns where a box is, in pixels from the left; null if it is not in the
  // zoomed part.
  function place(b) {
    if (tree.depth[b] <= tree.depth[zoom]) return within(zoom, b) ? [0, width] : null;
    if (!within(b, zoom)) return null;
    const scale = width / tree.weight[zoom];
    return [(tree.x[b] - tree.x[zoom]) * scale, tree.weight[b] * scale];
  }

  // firstAt returns the index of the first box of a level that ends behind x.
  function firstAt(level, x) {
    let lo = 0, hi = level.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (tree.x[level[mid]] + tree.weight[level[mid]] > x) hi = mid; else lo = mid + 1;
    }
    return lo;
  }

  let drawing = false;
  function draw() {
    if (!drawing) { drawing = true; requestAnimationFrame(drawNow); }
  }

  function drawNow() {
    drawing = false;
    if (!palette) readPalette();
    const ratio = window.devicePixelRatio || 1;
    width = view.clientWidth;
    const height = Math.min(levels.length * ROW, Math.max(ROW, Math.floor(innerHeight * .72)));
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    $("spacer").style.height = levels.length * ROW - height + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT + "px ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, monospace";
    pen.textBaseline = "middle";
    charWidth = pen.measureText("MMMMMMMMMM").width / 10;
    pen.fillStyle = palette.gap;
    pen.fillRect(0, 0, width, height);
    const top = view.scrollTop;
    for (let d = Math.floor(top / ROW); d < levels.length && d * ROW < top + height; d++) drawLevel(levels[d], d * ROW - top);
    $("reset").disabled = zoom === 0;
  }

  function drawLevel(level, y) {
    const end = tree.x[zoom] + tree.weight[zoom];
    let right = -1;
    for (let i = firstAt(level, tree.x[zoom]); i < level.length && tree.x[level[i]] < end; i++) {
      const at = place(level[i]);
      if (!at || at[0] + at[1] < right + 1) continue; // too narrow to be seen
      drawBox(level[i], at[0], y, Math.max(at[1], 1));
      right = at[0] + at[1];
    }
  }

  function drawBox(b, x, y, w) {
    const gap = w > 3 ? 1 : 0;
    pen.globalAlpha = hits && b && !isHit(b) ? .25 : tree.depth[b] < tree.depth[zoom] ? .6 : 1;
    pen.fillStyle = fill(b);
    pen.fillRect(x, y, w - gap, ROW - 1);
    if (tree.cut[b]) {
      if (tree.end[b] < 0) pen.globalAlpha *= .45;
      pen.fillStyle = palette.stripes;
      pen.fillRect(x, y, w - gap, ROW - 1);
    }
    if (tree.crashed[b]) {
      pen.fillStyle = palette.bad;
      pen.fillRect(x, y, Math.min(3, w), ROW - 1);
    }
    if (w > 24) {
      pen.globalAlpha = hits && b && !isHit(b) ? .55 : 1;
      pen.fillStyle = palette.text;
      const mark = markOf(b), name = fit(boxName(b).slice(mark.length), w - mark.length * charWidth);
      if (name) pen.fillText(mark + name, x + 5, y + ROW / 2);
    }
    pen.globalAlpha = 1;
    if (b === chosen && b || b === hover) {
      pen.strokeStyle = b === chosen ? palette.accent : palette.text;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, Math.max(1, w - gap - 2), ROW - 3);
    }
  }

  function boxAt(event) {
    const r = view.getBoundingClientRect();
    const x = event.clientX - r.left - view.clientLeft, y = event.clientY - r.top - view.clientTop + view.scrollTop;
    const level = levels[Math.floor(y / ROW)];
    if (!level || x < 0 || x > width) return -1;
    const at = tree.x[zoom] + x * tree.weight[zoom] / width;
    if (tree.depth[level[0]] <= tree.depth[zoom]) return level.find((b) => within(zoom, b)) ?? -1;
    const b = level[firstAt(level, at)];
    return b !== undefined && tree.x[b] <= at ? b : -1;
  }

  const share = (n) => (total ? (100 * n / total).toFixed(n === total ? 0 : 1) : 0) + " %";

  function describe(b) {
    const lines = [boxName(b), count(tree.weight[b], kind) + ", " + share(tree.weight[b])];
    const f = tree.frame[b];
    if (f >= 0) lines.push(how(f, tree.trust[b]));
    if (f >= 0 && frames.file[f]) lines.push(source(f));
    if (tree.crashed[b]) lines.push("on the stack of the crashed " + kind);
    return lines;
  }

  const how = (f, trust = trustOf(f)) => methods[methodOf(f)] + ", trust " + trusts[trust] + (frames.module[f] ? ", in " + texts[frames.module[f]] : "");
  const source = (f) => texts[frames.file[f]] + (frames.line[f] ? ":" + frames.line[f] : "");

  function zoomTo(b) {
    zoom = b;
    const y = tree.depth[b] * ROW;
    if (y < view.scrollTop || y > view.scrollTop + view.clientHeight - 3 * ROW) view.scrollTop = Math.max(0, y - 2 * ROW);
    draw();
  }

  function choose(b, speak) {
    chosen = b;
    const y = tree.depth[b] * ROW;
    if (y < view.scrollTop) view.scrollTop = y;
    if (y + ROW > view.scrollTop + canvas.clientHeight) view.scrollTop = y + ROW - canvas.clientHeight;
    if (speak) $("said").textContent = describe(b).join(", ");
    showBox(b);
    draw();
  }

  // showBox shows a box below the picture.
  function showBox(b) {
    const detail = $("detail"), inside = groupsIn(b);
    detail.hidden = b === 0;
    const ids = [];
    for (const g of inside) for (const i of g.members) if (ids.length < 40) ids.push(stacks.id[i]);
    const [title, ...rest] = describe(b);
    const f = tree.frame[b];
    detail.replaceChildren(h("h3", {}, title), h("p", {}, rest.join(" · ")),
      f >= 0 && frames.doubt[f] ? h("p", { className: "doubt" }, "not fully trusted: " + texts[frames.doubt[f]]) : "",
      h("p", { className: "ids" }, count(inside.length, "different stack") + ", " + kind + " " + ids.join(" ") + (tree.weight[b] > ids.length ? " …" : "")));
    if (inside.length === 1) detail.append(frameTable(inside[0]));
  }

  function neighbour(b, step) {
    const level = levels[tree.depth[b]], i = level.indexOf(b) + step, other = level[i];
    return other !== undefined && place(other) ? other : b;
  }

  function childOf(b) {
    const level = levels[tree.depth[b] + 1] || [];
    let best = b;
    for (let i = firstAt(level, tree.x[b]); i < level.length && tree.x[level[i]] < tree.x[b] + tree.weight[b]; i++) {
      if (tree.parent[level[i]] === b && place(level[i]) && (best === b || tree.weight[level[i]] > tree.weight[best])) best = level[i];
    }
    return best;
  }

  const keys = {
    ArrowDown: () => choose(childOf(chosen), true),
    ArrowUp: () => choose(Math.max(0, tree.parent[chosen]), true),
    ArrowLeft: () => choose(neighbour(chosen, -1), true),
    ArrowRight: () => choose(neighbour(chosen, 1), true),
    Home: () => choose(0, true),
    Enter: () => { zoomTo(chosen); $("said").textContent = "zoomed to " + boxName(zoom); },
    Escape: () => { zoomTo(0); $("said").textContent = "zoomed out"; },
  };

  view.addEventListener("keydown", (e) => {
    if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); keys[e.key](); }
  });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); $("search").focus(); }
  });
  view.addEventListener("scroll", draw);
  view.addEventListener("click", (e) => {
    const b = boxAt(e);
    if (b >= 0) { zoomTo(b); choose(b, false); }
  });
  view.addEventListener("mouseleave", () => { hover = -1; tip.hidden = true; draw(); });
  view.addEventListener("mousemove", (e) => {
    const b = boxAt(e);
    if (b !== hover) { hover = b; draw(); }
    tip.hidden = b < 0;
    if (b < 0) return;
    tip.textContent = describe(b).join("\n");
    const r = view.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
    tip.style.left = Math.max(0, Math.min(x + 14, r.width - tip.offsetWidth - 8)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > r.height && y > tip.offsetHeight + 12 ? y - tip.offsetHeight - 10 : y + 18) + view.scrollTop + "px";
  });

  function legend() {
    const names = colour === "trust" ? trusts : methods, seen = new Map();
    for (let n = 1; n < nodes.length; n++) {
      if (!weights[n]) continue;
      const k = colour === "trust" ? trustOf(nodes[n]) : methodOf(nodes[n]);
      seen.set(k, (seen.get(k) || 0) + weights[n]);
    }
    const swatch = (style, striped) => {
      const c = h("canvas", { width: 14, height: 14, ariaHidden: "true" }), p = c.getContext("2d");
      p.fillStyle = style;
      p.fillRect(0, 0, 14, 14);
      if (striped) { p.fillStyle = palette.stripes; p.fillRect(0, 0, 14, 14); }
      return c;
    };
    const list = [...seen].sort((a, b) => b[1] - a[1]).map(([k, n]) => h("span", {}, swatch(palette[colour][k]), names[k] + " " + n.toLocaleString("en")));
    if (groups.some((g) => g.reason >= 0)) list.push(h("span", {}, swatch(palette.root, true), "incomplete stack"));
    if (crashed.size) list.push(h("span", {}, swatch(palette.bad), "crashed " + kind));
    $("legend").replaceChildren(...list);
  }

  // Lists.
  const end = (g) => (g.reason < 0 ? "complete" : "stopped: " + reasons[g.reason]);
  const worst = (g) => framesOf(g.node, 1e6).reduce((t, f) => Math.max(t, trustOf(f)), 0);

  function summary(g, most = 4) {
    const names = framesOf(g.node, most).map((f) => marks[trustOf(f)] + brief(nameOf(f)));
    return names.length ? names.join(" ← ") + (depths[g.node] > most ? " ← …" : "") : "(no frames)";
  }

  function frameTable(g) {
    const rows = framesOf(g.node, 2000).map((f, i) => h("tr", {}, h("td", {}, "#" + i), h("td", {}, "0x" + pcs[f]), h("td", {}, methods[methodOf(f)]),
      h("td", {}, marks[trustOf(f)] + nameOf(f) + (frames.how[f] & 2 ? " (inlined)" : "") + (frames.how[f] & 1 ? " <signal handler called>" : "")),
      h("td", {}, frames.file[f] ? source(f) : ""), h("td", {}, texts[frames.module[f]])));
    const head = h("tr", {}, ...["Frame", "Address", "Method", "Function", "Source", "Module"].map((t) => h("th", { scope: "col" }, t)));
    const details = [...new Set(g.members.map((i) => stacks.detail[i]))].filter((t) => t).slice(0, 3).map((t) => texts[t]);
    const parts = [h("div", { className: "wide" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)))];
    if (depths[g.node] > 2000) parts.push(h("p", {}, count(depths[g.node] - 2000, "more frame")));
    parts.push(h("p", { className: g.reason < 0 ? "end" : "end bad" }, end(g) + (details.length ? ": " + details.join("; ") : "")));
    return h("div", { className: "stack open" }, ...parts);
  }

  function locals(i) {
    const lines = (data.locals && data.locals[i]) || [];
    const list = framesOf(stacks.node[i]);
    return lines.flatMap((l, f) => (l && l.length ? [h("p", {}, "#" + f + " " + nameOf(list[f])), h("pre", {}, l.map((t) => "  " + texts[t]).join("\n"))] : []));
  }

  let matchedNodes = null, query = "";
  const idHit = (i) => query && (String(stacks.id[i]) === query || hits[stacks.name[i]] || hits[stacks.state[i]]);
  const matches = (i) => !matchedNodes || matchedNodes[stacks.node[i]] || idHit(i);
  let shownStacks = 25, shownThreads = 50, foundGroups = [], foundThreads = [];

  function list() {
    foundGroups = groups.filter((g) => g.members.some(matches));
    foundThreads = [];
    for (const g of groups) for (const i of g.members) if (matches(i)) foundThreads.push(i);
    foundThreads.sort((a, b) => crashed.has(b) - crashed.has(a) || a - b);
    listStacks();
    listThreads();
  }

  function listStacks() {
    $("stack-list").replaceChildren(...foundGroups.slice(0, shownStacks).map((g) => {
      const tags = [texts[stacks.state[g.members[0]]], g.crashed ? "crashed" : "", g.reason < 0 ? "" : end(g)].filter((t) => t).join(" · ");
      const d = h("details", { className: "stack" }, h("summary", {}, h("span", { className: "count" }, count(g.members.length, kind)),
        h("span", { className: "names" }, summary(g)), h("span", { className: g.reason < 0 && !g.crashed ? "tags" : "tags bad" }, tags)));
      d.addEventListener("toggle", () => {
        if (d.childElementCount > 1) return;
        const ids = g.members.slice(0, 200).map((i) => stacks.id[i]).join(" ") + (g.members.length > 200 ? " …" : "");
        d.append(h("p", { className: "ids" }, kind + " " + ids), frameTable(g));
      });
      return d;
    }));
    $("more-stacks").hidden = foundGroups.length <= shownStacks;
  }

  function listThreads() {
    $("thread-rows").replaceChildren(...foundThreads.slice(0, shownThreads).map((i) => {
      const g = groups[groupOf[i]], open = h("button", { type: "button" }, summary(g, 2));
      open.addEventListener("click", () => {
        choose(g.box, false);
        $("detail").hidden = false;
        $("detail").replaceChildren(h("h3", {}, kind + " " + stacks.id[i] + " " + texts[stacks.name[i]]), frameTable(g), ...locals(i));
        $("detail").scrollIntoView({ block: "nearest" });
        $("detail").focus();
      });
      return h("tr", {}, h("td", { className: "number" }, String(stacks.id[i])), h("td", {}, texts[stacks.name[i]]),
        h("td", { className: crashed.has(i) ? "bad" : "" }, [texts[stacks.state[i]], crashed.has(i) ? "crashed" : ""].filter((t) => t).join(", ")),
        h("td", {}, open), h("td", { className: "number" }, depths[stacks.node[i]].toLocaleString("en")), h("td", {}, trusts[worst(g)]), h("td", { className: g.reason < 0 ? "" : "bad" }, end(g)));
    }));
    $("more-threads").hidden = foundThreads.length <= shownThreads;
  }

  $("more-stacks").addEventListener("click", () => { shownStacks += 100; listStacks(); });
  $("more-threads").addEventListener("click", () => { shownThreads += 500; listThreads(); });

  // Search. A node is found if it or one of its callers is.
  let lower = null;
  function search(text) {
    query = text.trim().toLowerCase();
    hits = matchedNodes = null;
    if (query) {
      lower ||= texts.map((t) => t.toLowerCase());
      hits = Uint8Array.from(lower, (t) => (t.includes(query) ? 1 : 0));
      matchedNodes = new Uint8Array(nodes.length);
      for (let i = 1; i < nodes.length; i++) {
        const f = nodes[i];
        matchedNodes[i] = matchedNodes[parents[i]] | hits[frames.name[f]] | hits[frames.file[f]] | hits[frames.module[f]];
      }
    }
    list();
    $("found").textContent = query ? "found in " + foundThreads.length.toLocaleString("en") + " of " + count(total, kind) + ", in " +
      foundGroups.length.toLocaleString("en") + " of " + count(groups.length, "different stack") : count(total, kind) + ", " + count(groups.length, "different stack");
    draw();
  }

  let typed = 0;
  $("search").addEventListener("input", () => {
    cancelAnimationFrame(typed);
    typed = requestAnimationFrame(() => search($("search").value));
  });
  $("search").addEventListener("keydown", (e) => {
    if (e.key === "Escape") { $("search").value = ""; search(""); view.focus(); }
  });
  $("colour").addEventListener("change", () => { colour = $("colour").value; legend(); draw(); });
  $("reset").addEventListener("click", () => { zoomTo(0); choose(0, false); });
  $("crashed").addEventListener("click", () => { if (groups[0].crashed) { zoomTo(0); choose(groups[0].box, true); view.focus(); } });

  function show(first, end) {
    group(first, end);
    plant();
    zoom = chosen = 0;
    hover = -1;
    $("detail").hidden = true;
    if (!palette) readPalette();
    legend();
    search($("search").value);
    $("crashed").hidden = !(groups.length && groups[0].crashed);
  }

  if (snapshots.length > 1) {
    $("moment").append(h("option", { value: -1 }, "all " + snapshots.length), ...snapshots.map((s, i) => h("option", { value: i }, i + 1 + (s.time ? ": " + s.time : ""))));
    $("moment-label").hidden = false;
    $("moment").addEventListener("change", () => {
      const s = snapshots[$("moment").value];
      show(s ? s.first : 0, s ? s.end : groupOf.length);
    });
  }
  const repaint = () => { readPalette(); legend(); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", () => { document.documentElement.classList.add("print"); readPalette(); legend(); drawNow(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("print"); repaint(); });
  addEventListener("resize", draw);
  if (groupOf.length) {
    for (const id of ["picture", "stacks", "threads"]) $(id).hidden = false;
    show(0, groupOf.length);
  }
  performance.mark("sfcore-drawn");
})();
