// Opens pages of the built site from their folder and says what is to be seen; whether that is right is for the test to say.
//
// Reads {browser, site, widths, pages, question} and writes {pages: [{page, width, scheme, requests, errors, scroll, dark}],
// found: [titles that the search has for the question]}.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../browser/browser.mjs";

async function open(browser, site, name, width, scheme) {
  // A profile of its own: the theme remembers which colours were chosen.
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) seen.requests.push(request.url());
  });
  page.on("requestfailed", (request) => seen.errors.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(String(pathToFileURL(join(site, name))), { waitUntil: "load" });
  return { context, page, seen };
}

async function visit(browser, site, name, width, scheme) {
  const { context, page, seen } = await open(browser, site, name, width, scheme);
  const wanted = scheme === "dark" ? "slate" : "default";
  const dark = await page
    .waitForFunction((want) => document.body.dataset.mdColorScheme === want, { timeout: 5000 }, wanted)
    .then(() => scheme === "dark");
  const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
  await context.close();
  return { page: name, width, scheme, ...seen, scroll, dark };
}

async function search(browser, site, question) {
  const { context, page } = await open(browser, site, "index.html", 1280, "light");
  await page.type("[data-md-component=search-query]", question);
  await page.waitForSelector(".md-search-result__item h1", { timeout: 30000 });
  const titles = await page.$$eval(".md-search-result__item h1", (found) => found.map((each) => each.textContent));
  await context.close();
  return titles;
}

const { browser: folder, site, widths, pages, question } = JSON.parse(readFileSync(0, "utf-8"));
const browser = await launch(folder);
try {
  const visits = [];
  for (const name of pages)
    for (const width of widths)
      for (const scheme of ["light", "dark"]) visits.push(await visit(browser, site, name, width, scheme));
  console.log(JSON.stringify({ pages: visits, found: await search(browser, site, question) }));
} finally {
  await browser.close();
}
