// Runs within the page: each function is handed over as text, and so needs nothing from outside.

/** Text and signs with the contrast to what is behind them, where that is low. */
export function contrasts() {
  const LEAST_TEXT = 4.5; // https://www.w3.org/TR/WCAG22/#contrast-minimum
  const LEAST_SIGN = 3; // https://www.w3.org/TR/WCAG22/#non-text-contrast

  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const opaque = (color) => /^rgb/.test(color) && (channels(color)[3] ?? 1) === 1;
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const paint = (element) => {
    const style = getComputedStyle(element);
    return element instanceof SVGElement && !(element instanceof SVGSVGElement) ? style.fill : style.backgroundColor;
  };
  const behind = (x, y, front) => {
    const stack = document.elementsFromPoint(x, y);
    const below = stack.slice(stack.indexOf(front) + 1);
    return below.filter((each) => !(each instanceof SVGTextContentElement)).map(paint).find(opaque);
  };
  const found = [];
  const judge = (what, color, rectangle, front, least) => {
    const [x, y] = [rectangle.left + rectangle.width / 2, rectangle.top + rectangle.height / 2];
    const ground = behind(x, y, front);
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
    const svg = element instanceof SVGElement;
    judge(node.data.trim(), getComputedStyle(element)[svg ? "fill" : "color"], rectangle, element, LEAST_TEXT);
  }
  for (const sign of document.querySelectorAll(".badge, .bar, .device, .efa")) {
    const rectangle = sign.getBoundingClientRect();
    const style = getComputedStyle(sign);
    const hollow = style.fill === "none";
    if (rectangle.width) judge(sign.getAttribute("class"), hollow ? style.stroke : style.fill, rectangle, sign, LEAST_SIGN);
  }
  return { counted: found.length, low: found.filter((each) => each.ratio < each.least) };
}

/** Texts of the drawing that is shown, and what in it lies where it should not. */
export function drawing() {
  const shown = [...document.querySelectorAll("svg.drawing")].filter((each) => each.getBoundingClientRect().width);
  const SLACK = 1.5;
  const inside = (inner, outer) =>
    inner.left >= outer.left - SLACK &&
    inner.right <= outer.right + SLACK &&
    inner.top >= outer.top - SLACK &&
    inner.bottom <= outer.bottom + SLACK;
  const overlap = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > SLACK &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > SLACK;
  const named = (element) => element.textContent.trim() || element.getAttribute("class");

  const faults = [];
  const texts = [];
  for (const svg of shown) {
    const frame = svg.getBoundingClientRect();
    const placed = (selector) =>
      [...svg.querySelectorAll(selector)].map((element) => ({ element, box: element.getBoundingClientRect() }));
    for (const { element, box } of placed("text, rect, path, circle"))
      if (!inside(box, frame)) faults.push(`outside: ${named(element)}`);
    // Lines, not texts: the box of a text of two lines is larger than what is written.
    const lines = placed("text").flatMap(({ element }) =>
      (element.children.length ? [...element.children] : [element]).map((line) => ({
        element: line,
        box: line.getBoundingClientRect(),
      })),
    );
    lines.forEach((one, index) => {
      for (const other of lines.slice(index + 1))
        if (overlap(one.box, other.box)) faults.push(`overlap: ${named(one.element)} | ${named(other.element)}`);
    });
    for (const { element: frameOf, box: outer } of placed(".card, .pill, .plane, .vpc, .efa"))
      for (const { element, box } of lines)
        if (box.left >= outer.left && box.left < outer.right && box.top >= outer.top && box.top < outer.bottom)
          if (!inside(box, outer)) faults.push(`over the edge of ${named(frameOf)}: ${named(element)}`);
    const cards = placed(".card");
    cards.forEach((one, index) => {
      for (const other of cards.slice(index + 1)) if (overlap(one.box, other.box)) faults.push("cards overlap");
    });
    texts.push(...placed("text").map(({ element }) => element.textContent));
  }
  return { count: shown.length, texts, faults };
}
