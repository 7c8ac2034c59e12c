/* The drawing of attention, which two pages have: drawAttention(data, place) draws what tsr_attention_json gives into the elements of
 * attention_parts.html; place: the kind, layer, head and word to begin with. The other script of the page has `at` and `make`. */
const drawAttention = (() => {
  /* ---- weights ---- */

  /* Each row is its largest share, and bytes relative to that, packed by an adaptive range coder; the format is in Tessera's src/task/show/packed_attention.h. */
  function unpack(text, n, T, S, causal) {
    const data = Uint8Array.from(atob(text), c => c.charCodeAt(0)), out = new Float32Array(n * T * S), even = new Uint16Array(1);
    const odds = Array.from({ length: 9 }, () => new Uint16Array(256).fill(1024)), level = byte => 32 - Math.clz32(byte);
    let range = 0xffffffff, code = 0, next = 5;
    for (let i = 1; i < 5; i++) code = (code << 8 | data[i]) >>> 0;
    const bit = (odds, at) => {
      const bound = (range >>> 11) * odds[at], one = code >= bound;
      if (one) {
        code -= bound;
        range -= bound;
        odds[at] -= odds[at] >> 5;
      } else {
        range = bound;
        odds[at] += 2048 - odds[at] >> 5;
      }
      for (; range < 1 << 24; range = range << 8 >>> 0) code = (code << 8 | data[next++]) >>> 0;
      return +one;
    };
    const row = new Uint8Array(S);
    for (let m = 0, from = 0; m < n; m++) {
      row.fill(0);
      for (let t = 0; t < T; t++, from += S) {
        const end = causal ? Math.min(t + 1, S) : S;
        let largest = 0, left = 0;
        for (let i = 0; i < 16; i++) {
          even[0] = 1024;
          largest = largest << 1 | bit(even, 0);
        }
        for (let s = 0; s < end; s++) {
          let at = 1;
          const known = odds[level(left) + level(row[s]) + 1 >> 1];
          if (largest) for (let i = 0; i < 8; i++) at = at << 1 | bit(known, at);
          left = row[s] = largest ? at - 256 : 0;
          out[from + s] = largest / 65535 * left / 255;
        }
      }
    }
    return out;
  }

  /* The shares [T][S] of one layer and head; "mean" for either is the mean over all that the page has. */
  function shares(map, layer, head) {
    const size = map.T * map.S, out = new Float64Array(size);
    const layers = layer === "mean" ? map.layers.map((_, i) => i) : [+layer];
    const heads = head === "mean" ? map.heads.map((_, i) => i) : [+head];
    for (const l of layers)
      for (const h of heads) {
        const from = (l * map.heads.length + h) * size;
        for (let i = 0; i < size; i++)
          out[i] += map.weights[from + i];
      }
    return out.map(x => x / (layers.length * heads.length));
  }
  const percent = x => x >= 0.01 ? Math.round(100 * x) + "%" : x > 0 ? "<1%" : "0%";

  /* From the page's background to dark blue, or to light blue in dark mode; x in 0..1. */
  const night = matchMedia("(prefers-color-scheme: dark)");
  const STOPS = { day: [[255, 255, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]],
    night: [[13, 17, 23], [17, 54, 99], [31, 99, 176], [88, 166, 255], [214, 235, 255]] };
  function colour(x) {
    const stops = night.matches ? STOPS.night : STOPS.day;
    const place = Math.min(Math.max(x, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(place), stops.length - 2);
    return stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (place - i)));
  }
  const css = rgb => `rgb(${rgb})`;
  const inkOn = x => night.matches ? x > 0.6 ? "#0d1117" : "#e6edf3" : x > 0.55 ? "#fff" : "#1b1f24";
  const styled = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  /* The share that is drawn with the strongest colour, for each row. */
  function strongest(values, m) {
    const all = values.reduce((a, b) => Math.max(a, b), 0) || 1;
    return Array.from({ length: m.T }, (_, t) => {
      if (at("scale").value === "all") return all;
      return values.subarray(t * m.S, (t + 1) * m.S).reduce((a, b) => Math.max(a, b), 0) || 1;
    });
  }

  /* ---- words ---- */

  const shown = text => text.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/^ +$/, s => "␣".repeat(s.length)).replace(/^ +/, "");
  const spoken = text => shown(text).trim() || "space";
  let data, kind = 0, queriesSide = true, current, most;
  const map = () => data.maps[kind];

  function wordButton(token, index, side, share) {
    const button = make("button", { type: "button", className: "word" });
    button.classList.toggle("gap", /^[ \n]/.test(token.text) || token.made || index === 0);
    button.classList.toggle("made", !!token.made);
    const text = make("span", { className: "text", textContent: shown(token.text) });
    const label = make("span", { className: "share", textContent: share === null ? "" : percent(share) });
    if (share !== null) {
      const x = most ? share / most : 0;
      text.style.background = css(colour(x));
      text.style.color = inkOn(x);
    }
    const pressed = side === queriesSide && index === map().chosen;
    button.setAttribute("aria-pressed", pressed);
    button.setAttribute("aria-label", share === null ? spoken(token.text) : `${spoken(token.text)}, ${percent(share)}`);
    button.append(text, label);
    button.onclick = () => { queriesSide = side; map().chosen = index; draw(); focusWord(side, index); };
    return button;
  }
  function focusWord(side, index) {
    const row = at("words").querySelector(`[data-side="${side}"]`);
    if (row) row.querySelectorAll("button")[index].focus({ preventScroll: true });
  }
  /* The left and right arrow keys move from word to word. */
  at("words").addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !event.target.classList.contains("word")) return;
    const buttons = [...event.target.parentElement.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(event.target) + step];
    if (next) { next.click(); event.preventDefault(); }
  });

  function drawWords() {
    const m = map(), same = m.queries === m.keys;
    const share = m.chosen === null ? null : queriesSide
      ? Array.from({ length: m.S }, (_, s) => m.kind === "causal" && s > m.chosen ? null : current[m.chosen * m.S + s])
      : Array.from({ length: m.T }, (_, t) => current[t * m.S + m.chosen]);
    most = share.reduce((a, b) => Math.max(a, b || 0), 0);
    const row = (name, tokens, side, values) => {
      const line = make("div", { className: "words" }, make("span", { className: "name", textContent: name }));
      line.dataset.side = side;
      tokens.forEach((token, i) => line.append(wordButton(token, i, side, values ? values[i] : null)));
      return line;
    };
    const queries = data.tokens[m.queries], keys = data.tokens[m.keys];
    at("words").replaceChildren(...(same ? [row("", queries, true, share)] : [
      row(m.queries + " (attends)", queries, true, queriesSide ? null : share),
      row(m.keys + " (is attended to)", keys, false, queriesSide ? share : null)]));
    const word = (queriesSide ? queries : keys)[m.chosen];
    at("explain").textContent = (same ? "Choose a word: all words are shaded by the share of attention that it gives them. "
      : queriesSide ? "Choose a word of either line: the words of the other line are shaded by the share of attention between them. "
        : "The shade shows how much of its attention each word gives to the chosen one. ")
      + (m.kind === "causal" ? "A word sees itself and the words before it. " : "")
      + (m.kind === "cross" ? "A word of the target is the one that the decoder had read last when it chose the next. " : "") + `Chosen: “${spoken(word.text)}”.`;
    at("most").textContent = percent(most);
  }

  /* ---- the large map ---- */

  const cell = () => Math.max(5, Math.min(26, Math.floor(900 / Math.max(map().S, map().T))));
  let left = 0, above = 0;
  function drawMap() {
    const m = map(), canvas = at("map"), size = cell(), pen = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    const labels = size >= 10, font = `${Math.min(13, size)}px system-ui, sans-serif`;
    pen.font = font;
    const cut = token => { const text = shown(token.text); return text.length > 16 ? text.slice(0, 15) + "…" : text; };
    const rows = data.tokens[m.queries].map(cut), columns = data.tokens[m.keys].map(cut);
    left = labels ? Math.ceil(Math.max(...rows.map(t => pen.measureText(t).width))) + 10 : 0;
    above = labels ? Math.ceil(Math.max(...columns.map(t => pen.measureText(t).width))) + 10 : 0;
    const wide = left + size * m.S + 2, high = above + size * m.T + 2;
    canvas.width = wide * ratio;
    canvas.height = high * ratio;
    canvas.style.width = wide + "px";
    canvas.style.height = high + "px";
    pen.scale(ratio, ratio);
    pen.font = font;
    pen.textBaseline = "middle";
    const largest = strongest(current, m);
    at("largest").textContent = at("scale").value === "row" ? "the row's largest" : percent(largest[0]);
    for (let t = 0; t < m.T; t++)
      for (let s = 0; s < m.S; s++) {
        pen.fillStyle = css(colour(current[t * m.S + s] / largest[t]));
        pen.fillRect(left + s * size, above + t * size, size, size);
      }
    pen.strokeStyle = styled("--line");
    pen.strokeRect(left + .5, above + .5, size * m.S, size * m.T);
    pen.fillStyle = styled("--ink");
    if (labels) {
      pen.textAlign = "right";
      rows.forEach((text, t) => pen.fillText(text, left - 6, above + (t + .5) * size));
      pen.textAlign = "left";
      columns.forEach((text, s) => {
        pen.save();
        pen.translate(left + (s + .5) * size, above - 6);
        pen.rotate(-Math.PI / 2);
        pen.fillText(text, 0, 0);
        pen.restore();
      });
    }
    pen.strokeStyle = styled("--mark");
    pen.lineWidth = 2;
    if (queriesSide) pen.strokeRect(left, above + m.chosen * size, size * m.S, size);
    else pen.strokeRect(left + m.chosen * size, above, size, size * m.T);
    canvas.setAttribute("aria-label", `${m.name}: ${m.T} words by ${m.S}; the words above show the same numbers`);
  }
  function cellAt(event) {
    const box = at("map").getBoundingClientRect(), size = cell(), m = map();
    const s = Math.floor((event.clientX - box.left - left) / size), t = Math.floor((event.clientY - box.top - above) / size);
    return s >= 0 && t >= 0 && s < m.S && t < m.T ? [t, s] : null;
  }
  at("map").onmousemove = event => {
    const found = cellAt(event), m = map();
    at("said").replaceChildren(...(found ? [make("b", { textContent: spoken(data.tokens[m.queries][found[0]].text) }), " gives ",
      make("b", { textContent: spoken(data.tokens[m.keys][found[1]].text) }), ` ${percent(current[found[0] * m.S + found[1]])} of its attention`] : []));
  };
  at("map").onclick = event => {
    const found = cellAt(event);
    if (found) { queriesSide = true; map().chosen = found[0]; draw(); }
  };

  /* ---- the grid of heads ---- */

  function thumbnail(m, l, h) {
    const canvas = make("canvas", { width: m.S, height: m.T }), pen = canvas.getContext("2d");
    const image = pen.createImageData(m.S, m.T), values = shares(m, l, h), largest = strongest(values, m);
    values.forEach((value, i) => image.data.set([...colour(value / largest[Math.floor(i / m.S)]), 255], 4 * i));
    pen.putImageData(image, 0, 0);
    const longest = Math.max(m.S, m.T), scale = Math.min(Math.max(84, longest), 160) / longest;
    canvas.style.imageRendering = scale < 1 ? "auto" : "";
    canvas.style.width = Math.max(8, Math.round(m.S * scale)) + "px";
    canvas.style.height = Math.max(8, Math.round(m.T * scale)) + "px";
    return canvas;
  }
  function drawGrid() {
    const m = map(), table = make("table", { className: "grid" });
    const head = make("tr", {}, make("td"), ...m.heads.map(h => make("th", { scope: "col", textContent: "head " + h })));
    table.append(make("thead", {}, head));
    const body = make("tbody");
    m.layers.forEach((layer, l) => {
      const row = make("tr", {}, make("th", { scope: "row", textContent: "layer " + layer }));
      m.heads.forEach((number, h) => {
        const button = make("button", { type: "button", title: `layer ${layer}, head ${number}` }, thumbnail(m, l, h));
        button.dataset.place = `${l}/${h}`;
        button.setAttribute("aria-label", `layer ${layer}, head ${number}`);
        button.onclick = () => { at("layer").value = l; at("head").value = h; draw(); };
        row.append(make("td", {}, button));
      });
      body.append(row);
    });
    table.append(body);
    at("grid").replaceChildren(table);
  }

  /* ---- choosing ---- */

  const option = (value, text) => make("option", { value, textContent: text });
  function choices(id, name, numbers) {
    const several = numbers.length > 1 ? [option("mean", `mean of all ${numbers.length}`)] : [];
    at(id).replaceChildren(...several, ...numbers.map((n, i) => option(i, `${name} ${n}`)));
  }
  function draw() {
    current = shares(map(), at("layer").value, at("head").value);
    drawWords();
    drawMap();
    for (const button of at("grid").querySelectorAll("button"))
      button.setAttribute("aria-pressed", button.dataset.place === `${at("layer").value}/${at("head").value}`);
  }
  function turnTo(index) {
    kind = index;
    queriesSide = true;
    choices("layer", "layer", map().layers);
    choices("head", "head", map().heads);
    drawGrid();
    draw();
  }
  function drawRamps() {
    for (const ramp of document.querySelectorAll(".ramp")) ramp.style.background = `linear-gradient(to right, ${[0, .25, .5, .75, 1].map(x => css(colour(x)))})`;
  }
  at("kind").onchange = () => turnTo(+at("kind").value);
  at("layer").onchange = at("head").onchange = draw;
  at("scale").onchange = () => { drawGrid(); draw(); };
  night.onchange = () => { drawRamps(); if (data) { drawGrid(); draw(); } };

  function take(map) {
    const T = data.tokens[map.queries].length, S = data.tokens[map.keys].length;
    return { ...map, T, S, weights: unpack(map.weights, map.layers.length * map.heads.length, T, S, map.kind === "causal"),
      chosen: map.kind === "causal" ? T - 1 : T >> 1 };
  }
  return (given, [k, l, h, w] = []) => {
    data = given;
    data.maps = data.maps.map(take);
    drawRamps();
    at("kind").replaceChildren(...data.maps.map((m, i) => option(i, m.name)));
    at("kind-label").hidden = data.maps.length < 2;
    const start = Math.max(0, data.maps.findIndex(m => m.kind === k));
    at("kind").value = start;
    turnTo(start);
    for (const [id, value] of [["layer", l], ["head", h]])
      if (value !== undefined && [...at(id).options].some(o => o.value === value)) at(id).value = value;
    if (w !== undefined && +w >= 0 && +w < map().T) map().chosen = +w;
    draw();
  };
})();
