// Opens pages in a browser and reports what they show; the test checks the result.
//
// Reads {folder, widths, screenReader: widths, pages: [{name, file}], shots: [{file, out, width, height, scheme}]} and
// writes a JSON array with one entry for each page, width and color scheme.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";
import { contrasts, drawing } from "./measure.mjs";

const SCHEMES = ["light", "dark"];

async function open(browser, file, width, scheme) {
  const page = await browser.newPage();
  const events = { requests: [], console: [], dialogs: [] };
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const own = request.url() === String(pathToFileURL(file));
    if (!own) events.requests.push(request.url());
    own ? request.continue() : request.abort();
  });
  page.on("console", (message) => events.console.push(message.text()));
  page.on("pageerror", (error) => events.console.push(String(error)));
  page.on("dialog", (dialog) => {
    events.dialogs.push(dialog.message());
    dialog.dismiss();
  });
  await page.setViewport({ width, height: 900 });
  await show(page, scheme);
  await page.goto(String(pathToFileURL(file)));
  return { page, events };
}

const show = (page, scheme) => page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);

// Keyboard only: Tab to the first fold, Enter opens it, Enter closes it.
async function folds(page) {
  const state = () =>
    page.evaluate(() => {
      const at = document.activeElement;
      const outline = parseFloat(getComputedStyle(at).outlineWidth);
      return { tag: at.tagName, open: at.parentElement?.open ?? false, outline };
    });
  for (let presses = 0; presses < 500; presses += 1) {
    await page.keyboard.press("Tab");
    const reached = await state();
    if (reached.tag === "SUMMARY") {
      await page.keyboard.press("Enter");
      const opened = await state();
      await page.keyboard.press("Enter");
      return { reached, opened: opened.open, closed: !(await state()).open };
    }
  }
  return null;
}

// A page is opened once for each width, and shown in each color scheme. Measurements that do not depend on colors are
// made once.
async function looks(browser, { name, file }, width, screenReader) {
  const { page, events } = await open(browser, file, width, SCHEMES[0]);
  const keyboard = await folds(page);
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  const seen = [];
  for (const scheme of SCHEMES) {
    await show(page, scheme);
    seen.push({ name, width, scheme, ...events, keyboard, ...(await look(page, width, seen[0])) });
  }
  // Last, because the browser keeps that tree up to date from here on.
  const roles = screenReader.includes(width) ? await counted(page) : null;
  await page.close();
  return seen.map(({ boxes: _, ...each }) => ({ ...each, roles }));
}

// The drawing is measured again only if the colors move something.
async function look(page, width, before) {
  await page.setViewport({ width, height: 900 });
  const size = await page.evaluate(() => ({
    scroll: document.documentElement.scrollWidth,
    wider: [...document.body.querySelectorAll("*")]
      .filter((each) => each.getBoundingClientRect().right > innerWidth)
      .map((each) => `${each.tagName} ${each.textContent.slice(0, 80)}`),
    height: document.documentElement.scrollHeight,
    title: document.title,
    scripted: Object.hasOwn(window, "scripted"),
    text: document.body.innerText,
  }));
  await page.setViewport({ width, height: size.height }); // only visible points can be queried
  const faint = await page.evaluate(contrasts);
  const boxes = await page.evaluate(allBoxes);
  if (before?.boxes === boxes) return { ...size, boxes, faint, drawn: before.drawn, wide: before.wide };
  const drawn = await page.evaluate(drawing);
  // The same in a wider font.
  const style = await page.addStyleTag({ content: ".drawing, .legend { letter-spacing: 0.05em; }" });
  const wide = await page.evaluate(drawing);
  await style.evaluate((element) => element.remove());
  return { ...size, boxes, faint, drawn, wide };
}

// Place and size of every element, as text.
function allBoxes() {
  const box = ({ x, y, width, height }) => [x, y, width, height].map((each) => each.toFixed(2)).join();
  return [...document.body.querySelectorAll("*")].map((each) => box(each.getBoundingClientRect())).join(" ");
}

// The screen reader's tree, counted by role. Puppeteer's own snapshot of it takes twice as long.
async function counted(page) {
  const session = await page.createCDPSession();
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const found = {};
  for (const { ignored, role } of nodes) if (!ignored) found[role.value] = (found[role.value] ?? 0) + 1;
  return found;
}

const { folder, widths, screenReader, pages, shots } = JSON.parse(readFileSync(0, "utf8"));
const browser = await launch(folder, { drawn: shots.length > 0 });
try {
  const seen = [];
  for (const each of pages)
    for (const width of widths) seen.push(...(await looks(browser, each, width, screenReader)));
  for (const { file, out, width, height, scheme } of shots) {
    const { page } = await open(browser, file, width, scheme);
    await page.screenshot({ path: out, clip: { x: 0, y: 0, width, height }, captureBeyondViewport: true });
    await page.close();
  }
  process.stdout.write(JSON.stringify(seen));
} finally {
  await browser.close();
}
