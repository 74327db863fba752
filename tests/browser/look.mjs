// Opens pages in a browser and says what is to be seen there; whether that is right is for the test to say.
//
// Reads {folder, widths, pages: [{name, file}], shots: [{file, out, width, height, scheme}]} and writes a JSON array with
// one entry for each page, width and colour scheme.
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
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(String(pathToFileURL(file)));
  return { page, events };
}

// What only the keyboard does: Tab to the first fold, Enter opens it, Enter closes it.
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

async function look(browser, { name, file }, width, scheme) {
  const { page, events } = await open(browser, file, width, scheme);
  const keyboard = await folds(page);
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
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
  await page.setViewport({ width, height: size.height }); // points can be asked for only where they are shown
  const faint = await page.evaluate(contrasts);
  const drawn = await page.evaluate(drawing);
  // The same in a wider font.
  await page.addStyleTag({ content: ".drawing, .legend { letter-spacing: 0.05em; }" });
  const wide = await page.evaluate(drawing);
  const tree = await page.accessibility.snapshot({ interestingOnly: false });
  await page.close();
  return { name, width, scheme, ...events, ...size, keyboard, faint, drawn, wide, roles: roles(tree) };
}

function roles(node, found = {}) {
  found[node.role] = (found[node.role] ?? 0) + 1;
  for (const child of node.children ?? []) roles(child, found);
  return found;
}

const { folder, widths, pages, shots } = JSON.parse(readFileSync(0, "utf8"));
const browser = await launch(folder);
try {
  const seen = [];
  for (const each of pages)
    for (const width of widths) for (const scheme of SCHEMES) seen.push(await look(browser, each, width, scheme));
  for (const { file, out, width, height, scheme } of shots) {
    const { page } = await open(browser, file, width, scheme);
    await page.screenshot({ path: out, clip: { x: 0, y: 0, width, height }, captureBeyondViewport: true });
    await page.close();
  }
  process.stdout.write(JSON.stringify(seen));
} finally {
  await browser.close();
}
