// Runs in the page: each function is passed as text, so it cannot use anything from outside.

/** Text and signs with the contrast to what is behind them, where that is low. */
export function contrasts() {
  const LEAST_TEXT = 4.5; // https://www.w3.org/TR/WCAG22/#contrast-minimum
  const LEAST_SIGN = 3; // https://www.w3.org/TR/WCAG22/#non-text-contrast

  // There are thousands of texts, but few colors.
  const once = (ask) => {
    const known = new Map();
    return (key) => {
      if (!known.has(key)) known.set(key, ask(key));
      return known.get(key);
    };
  };
  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const opaque = once((color) => /^rgb/.test(color) && (channels(color)[3] ?? 1) === 1);
  const painted = once((element) => getComputedStyle(element).backgroundColor);
  const luminance = once((color) => {
    const [red, green, blue] = channels(color).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
  const ratio = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  // The nearest painted background at a point, of the element itself (text) or below it (signs); none if it is covered.
  const behind = (x, y, front, itself) => {
    const stack = document.elementsFromPoint(x, y);
    const at = stack.indexOf(front);
    if (at < 0) return null;
    return stack.slice(itself ? at : at + 1).map(painted).find(opaque);
  };
  const found = [];
  const judge = (what, color, rectangle, front, least, itself) => {
    const [x, y] = [rectangle.left + rectangle.width / 2, rectangle.top + rectangle.height / 2];
    const ground = behind(x, y, front, itself);
    const value = ground && opaque(color) ? ratio(color, ground) : 0;
    found.push({ what, color, ground: ground ?? null, ratio: Math.round(value * 100) / 100, least });
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || ["TITLE", "DESC", "STYLE"].includes(element.tagName.toUpperCase())) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rectangle = [...range.getClientRects()].find((each) => each.width > 1 && each.height > 1);
    if (!rectangle || getComputedStyle(element.closest("caption, thead") ?? element).clipPath !== "none") continue;
    judge(node.data.trim(), getComputedStyle(element).color, rectangle, element, LEAST_TEXT, true);
  }
  for (const sign of document.querySelectorAll(".badge, .bar, .device, .efa, .efa path, .cylinder, .wires i")) {
    const rectangle = sign.getBoundingClientRect();
    const { backgroundColor, borderTopColor, stroke } = getComputedStyle(sign);
    const drawn = sign instanceof SVGElement ? stroke : opaque(backgroundColor) ? backgroundColor : borderTopColor;
    // The middle of a line cannot be hit, so its surroundings count.
    const front = sign instanceof SVGElement ? sign.closest("h3, h5, .efa") : sign;
    if (!rectangle.width) continue;
    judge(sign.getAttribute("class") ?? sign.tagName, drawn, rectangle, front, LEAST_SIGN, sign instanceof SVGElement);
  }
  return { counted: found.length, low: found.filter((each) => each.ratio < each.least) };
}

/** Return the names in the drawing, and the elements that overlap others or its edge. */
export function drawing() {
  const SLACK = 1.5;
  const inside = (inner, outer) =>
    inner.left >= outer.left - SLACK &&
    inner.right <= outer.right + SLACK &&
    inner.top >= outer.top - SLACK &&
    inner.bottom <= outer.bottom + SLACK;
  const overlap = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > SLACK &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > SLACK;
  const box = (element) => element.getBoundingClientRect();
  const all = (root, selector) => [...root.querySelectorAll(selector)].filter((each) => box(each).width);
  const lines = (root) => {
    const found = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const text = walker.currentNode.data.trim();
      if (text) for (const each of range.getClientRects()) if (each.width > 1) found.push({ text, box: each });
    }
    return found;
  };
  const pairs = (boxes, fault) =>
    boxes.forEach((one, index) => {
      for (const other of boxes.slice(index + 1)) if (overlap(one.box, other.box)) faults.push(fault(one, other));
    });

  const faults = [];
  const figure = document.querySelector("figure.drawing");
  const written = lines(figure);
  pairs([...written, ...lines(document.querySelector(".legend"))], (one, other) => `overlap: ${one.text} | ${other.text}`);
  const signs = all(figure, ".badge, .devices, .efa, .cylinder, .pill, .bar");
  const marked = [...signs, ...all(figure, ".card .code, .card .accelerators > span:last-child, h5 > span")];
  const apart = marked.filter((each) => !marked.some((other) => other !== each && other.contains(each)));
  pairs(
    apart.map((each) => ({ text: each.className || each.textContent, box: box(each) })),
    (one, other) => `overlap: ${one.text} | ${other.text}`,
  );
  for (const frame of [figure, ...all(figure, ".card, .pill, .plane, .vpc, .efa, .badge, .zones li")]) {
    for (const { text, box: line } of lines(frame))
      if (!inside(line, box(frame))) faults.push(`over the edge of ${frame.className}: ${text}`);
    for (const each of all(frame, "*")) if (!inside(box(each), box(frame))) faults.push(`outside ${frame.className}: ${each.className}`);
  }
  const cards = all(figure, ".card");
  pairs(
    cards.map((each) => ({ box: box(each) })),
    () => "cards overlap",
  );
  // With columns, a bar is above the column of its zone; otherwise it names its zone.
  const columns = all(figure, ".ground i");
  for (const each of all(figure, ".bars li")) {
    const column = columns[each.style.getPropertyValue("--at") - 1];
    const { left, right } = box(each);
    if (column ? left < box(column).left || right > box(column).right : !lines(each).length)
      faults.push(`a bar of another zone: ${each.textContent}`);
  }
  return { columns: columns.length, names: all(figure, ".card h5 > span").map((each) => each.textContent), faults };
}
