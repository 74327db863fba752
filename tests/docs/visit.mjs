// Opens pages of the built site from their folder and reports what they show; the test checks the result.
//
// Input: {folder, site, widths, pages, phone, questions}.
//
// Output: {pages: [{page, width, scheme, requests, errors, scroll, dark, outputs, cut}], wide: [page],
// found: {question: [titles]}}.
//
// The titles of a result are its page and then its sections.
//
// "cut" lists the first lines of code blocks that are too wide.
//
// "wide" lists the pages of "phone" that are wider than 390 px.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../browser/browser.mjs";

async function open(browser, site, name) {
  // A separate profile, because the theme stores the selected colors.
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) seen.requests.push(request.url());
  });
  page.on("requestfailed", (request) => seen.errors.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  return { context, page, seen, address: String(pathToFileURL(join(site, name))) };
}

// A page is opened once for each width, and then shown in the other colors. Every other page is opened in dark mode.
// Its width is not changed, because the theme's drawer would still be moving.
async function visit(browser, site, name, states) {
  const { context, page, seen, address } = await open(browser, site, name);
  const visits = [];
  let opened = 0;
  for (const { width, scheme } of states) {
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    if (opened !== width) await page.goto(address, { waitUntil: "load" });
    opened = width;
    const wanted = scheme === "dark" ? "slate" : "default";
    await page.waitForFunction(
      (want) => document.body.dataset.mdColorScheme === want,
      { timeout: 5000 },
      wanted,
    );
    const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
    const dark = await page.evaluate(() => document.body.dataset.mdColorScheme === "slate");
    visits.push({ page: name, width, scheme, scroll, dark, ...(await page.evaluate(codeBlocks)) });
  }
  await context.close();
  return visits.map((each) => ({ ...each, ...seen }));
}

// Output, which has columns, may be 84 characters wide; other code must fit.
function codeBlocks() {
  const isOutput = (code) => code.querySelector(".go") || code.closest(".language-text");
  const widest = (code) => {
    const ruler = Object.assign(document.createElement("span"), { textContent: "0".repeat(84) });
    code.append(ruler);
    const { width } = ruler.getBoundingClientRect();
    ruler.remove();
    return Math.max(width + 40, code.parentElement.clientWidth);
  };
  const codes = [...document.querySelectorAll(".md-content pre > code")];
  const cut = codes.filter((code) => code.scrollWidth > (isOutput(code) ? widest(code) : code.parentElement.clientWidth));
  return { outputs: codes.filter(isOutput).length, cut: cut.map((code) => code.textContent.split("\n")[0]) };
}

async function widerThanAPhone(browser, site, names) {
  const { context, page } = await open(browser, site, "index.html");
  await page.setViewport({ width: 390, height: 900 });
  const wide = [];
  for (const name of names) {
    await page.goto(String(pathToFileURL(join(site, name))), { waitUntil: "domcontentloaded" });
    if ((await page.evaluate(() => document.documentElement.scrollWidth)) > 390) wide.push(name);
  }
  await context.close();
  return wide;
}

function enter(field, typed) {
  field.focus();
  field.value = typed;
  field.dispatchEvent(new Event("keyup", { bubbles: true }));
}

async function search(browser, site, questions) {
  const { context, page, address } = await open(browser, site, "index.html");
  await page.goto(address, { waitUntil: "load" });
  const found = {};
  for (const question of questions) {
    // An empty field removes the results of the question before.
    for (const typed of ["", question]) {
      await page.$eval("[data-md-component=search-query]", enter, typed);
      await page.waitForFunction(
        (wanted) => Boolean(document.querySelector(".md-search-result__item h1")) === wanted,
        { timeout: 30000 },
        typed !== "",
      );
    }
    found[question] = await page.$$eval(".md-search-result__item", (items) =>
      items.map((each) => [...each.querySelectorAll("h1, h2")].map((title) => title.textContent)),
    );
  }
  await context.close();
  return found;
}

const { folder, site, widths, pages, phone, questions } = JSON.parse(readFileSync(0, "utf-8"));
const browser = await launch(folder, { drawn: true }); // a page gets other colors with the next frame
try {
  const states = widths.flatMap((width) => ["light", "dark"].map((scheme) => ({ width, scheme })));
  const visits = [];
  for (const [index, name] of pages.entries())
    visits.push(...(await visit(browser, site, name, index % 2 ? [...states].reverse() : states)));
  const wide = await widerThanAPhone(browser, site, phone);
  console.log(JSON.stringify({ pages: visits, wide, found: await search(browser, site, questions) }));
} finally {
  await browser.close();
}
