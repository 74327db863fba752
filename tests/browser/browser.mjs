// Chromium from the npm package @sparticuz/chromium, with its libraries and font. The machine needs neither a browser nor
// system packages. PUPPETEER_EXECUTABLE_PATH selects another browser.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

// The package unpacks to the temporary folder, and its libraries only if it detects AWS Lambda:
// https://github.com/Sparticuz/chromium/blob/v143.0.4/source/helper.ts
async function unpack(folder) {
  const part = `${folder}.${process.pid}`;
  mkdirSync(part, { recursive: true });
  const { TMPDIR, AWS_EXECUTION_ENV } = process.env;
  Object.assign(process.env, { TMPDIR: part, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" });
  try {
    const { default: chromium } = await import("@sparticuz/chromium");
    await chromium.executablePath();
    renameSync(part, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // otherwise another run was faster
  } finally {
    rmSync(part, { recursive: true, force: true });
    for (const [key, value] of Object.entries({ TMPDIR, AWS_EXECUTION_ENV })) {
      if (value === undefined) delete process.env[key];
      else process.env[key] = value;
    }
  }
}

function fonts(folder) {
  const prefer = (family, font) =>
    `<alias binding="same"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`;
  const file = join(folder, "fonts.conf");
  writeFileSync(
    file,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
    <dir>${join(folder, "fonts")}</dir><dir>/usr/share/fonts</dir><cachedir>${join(folder, "font-cache")}</cachedir>
    ${prefer("sans-serif", "Open Sans")}${prefer("system-ui", "Open Sans")}${prefer("monospace", "DejaVu Sans Mono")}
    </fontconfig>`,
  );
  return file;
}

// Frames are drawn only for screenshots. Measurements are the same, with half the processor time.
const UNDRAWN = ["--enable-begin-frame-control", "--run-all-compositor-stages-before-draw"];

/** A browser; `folder` is where it is unpacked to, once. Only one that is `drawn` takes screenshots, and shows
 *  pages in other colors. */
export async function launch(folder, { drawn = false } = {}) {
  const own = process.env.PUPPETEER_EXECUTABLE_PATH;
  if (!own && !existsSync(folder)) await unpack(folder);
  const libraries = { LD_LIBRARY_PATH: join(folder, "al2023", "lib") };
  return puppeteer.launch({
    executablePath: own ?? join(folder, "chromium"),
    headless: own ? true : "shell",
    // Containers run as root, which Chromium's sandbox refuses; the pages are our own.
    args: ["--no-sandbox", "--font-render-hinting=none", "--disable-lcd-text", ...(drawn || own ? [] : UNDRAWN)],
    env: own ? process.env : { ...process.env, ...libraries, FONTCONFIG_FILE: fonts(folder) },
  });
}
