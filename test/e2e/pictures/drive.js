// Opens pictures in a headless Chromium and prints what it finds as JSON.
//   node drive.js speedscope FILE...   imports files into speedscope
//   node drive.js page FILE...         opens pages
//   node drive.js large FILE           measures a large page
//   node drive.js served URL...        opens pages of a server, without scripts
"use strict";
const path = require("node:path");
const { chromium } = require("playwright-core");

const [mode, ...files] = process.argv.slice(2);
const speedscope = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");

// open opens a page. It notes errors, dialogs, and requests of anything but the page.
async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 2400 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  const noted = (page.noted = []);
  page.on("pageerror", (e) => noted.push("error: " + e.message));
  page.on("dialog", (d) => { noted.push("dialog: " + d.message()); d.dismiss(); });
  page.on("request", (r) => { if (r.url() !== page.opened && !options.requests) noted.push("request: " + r.url()); });
  page.on("console", (m) => { if (m.type() === "error") noted.push("console: " + m.text()); });
  await go(page, file);
  return page;
}

async function go(page, file) {
  page.opened = "file://" + path.resolve(file);
  await page.goto(page.opened);
}

const number = (text) => Number(text.replace(/,/g, "").match(/\d+/)[0]);

async function importAll(browser) {
  const results = {}, page = await open(browser, speedscope, { requests: true });
  for (const [i, file] of files.entries()) {
    const imported = page.waitForEvent("console", (m) => m.text().startsWith("import:"));
    if (i === 0) {
      await page.setInputFiles("input[type=file]", file);
    } else {
      const chooser = page.waitForEvent("filechooser");
      await page.getByText("Import").click();
      await (await chooser).setFiles(file);
    }
    await imported;
    await page.getByText("Left Heavy").click(); // so that the table is made anew
    await page.getByText("Sandwich").click();
    await page.locator("tr").nth(1).waitFor();
    const rows = await page.locator("tr").evaluateAll((all) => all.slice(1).map((r) => r.innerText));
    let self = 0;
    for (const row of rows) self += Number(row.match(/\d+ \([^)]*\)[^\d]*([\d,]+) \(/)[1].replace(/,/g, ""));
    results[file] = { threads: self, noted: page.noted.splice(0) };
  }
  return results;
}

async function openAll(browser) {
  const results = {}, page = await open(browser, files[0]);
  for (const [i, file] of files.entries()) {
    if (i > 0) await go(page, file);
    const found = await page.locator("#found").innerText();
    const rows = await page.locator("#thread-rows tr").count();
    results[file] = { threads: number(found), rows, crashed: await page.locator("ol.crash").count(), noted: page.noted.splice(0) };
  }
  return results;
}

async function large(browser) {
  const page = await open(browser, files[0]);
  const r = { noted: page.noted };
  const drawn = await page.waitForFunction(() => performance.getEntriesByName("sfcore-drawn")[0]);
  r.drawn = await drawn.evaluate((e) => e.startTime);
  // The browser notes a paint after it was made, which may be after the drawing.
  const painted = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint", "paint")[0]);
  r.painted = await painted.evaluate((e) => e.startTime);
  r.pixels = () => page.locator("#canvas").evaluate((c) => {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let sum = 0;
    for (let i = 0; i < d.length; i += 4) sum = (sum * 31 + d[i] + d[i + 1] * 3 + d[i + 2] * 7) % 1000000007;
    return sum;
  });
  const settled = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const look = async () => { await settled(); return r.pixels(); };
  const whole = await look();
  r.all = await page.locator("#found").innerText();

  // Search: from the key to the next picture.
  r.searched = await page.evaluate(() => new Promise((done) => {
    const input = document.getElementById("search"), start = performance.now();
    input.value = "planner";
    input.dispatchEvent(new Event("input"));
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))));
  }));
  r.found = await page.locator("#found").innerText();
  r.searchShows = (await look()) !== whole;
  r.listed = await page.locator("#thread-rows tr").first().innerText();
  await page.fill("#search", "nothing has this name");
  await settled();
  r.none = await page.locator("#found").innerText();
  await page.fill("#search", "1234");
  await settled();
  r.byId = await page.locator("#thread-rows tr td").first().innerText();
  await page.fill("#search", "");
  r.searchEnds = (await look()) === whole;

  // Zoom, by mouse.
  const box = await page.locator("#view").boundingBox();
  await page.mouse.click(box.x + box.width * .7, box.y + 19 * 6 + 9);
  await page.mouse.move(0, 0);
  r.zoomShows = (await look()) !== whole;
  r.detail = await page.locator("#detail").innerText();
  await page.click("#reset");
  r.zoomEnds = (await look()) === whole;

  // The same by keyboard, from the place where / leads.
  await page.keyboard.press("/");
  r.focus = await page.evaluate(() => document.activeElement.id);
  await page.keyboard.press("Escape");
  r.focusView = await page.evaluate(() => document.activeElement.id);
  r.said = [];
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "Enter", "Escape", "Home"]) {
    await page.keyboard.press(key);
    r.said.push(await page.locator("#said").innerText());
  }
  await page.locator("details.stack summary").nth(1).focus();
  await page.keyboard.press("Enter");
  const rows = page.locator("details.stack").nth(1).locator("tbody tr");
  await rows.first().waitFor({ state: "attached" }); // they are made when it has opened
  r.openedFrames = await rows.count();
  r.tree = await page.locator("#picture").ariaSnapshot();

  // Colours: another legend, and other colours in the dark and on paper.
  await page.keyboard.press("Home");
  const light = await look();
  await page.selectOption("#colour", "trust");
  r.trustShows = (await look()) !== light;
  r.legend = await page.locator("#legend").innerText();
  const trust = await look();
  await page.emulateMedia({ colorScheme: "dark" });
  r.darkShows = (await look()) !== trust;
  r.darkBack = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  r.printsLight = (await r.pixels()) === trust;
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  r.pdf = (await page.pdf()).length;
  await page.setViewportSize({ width: 380, height: 800 });
  await settled();
  r.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

  // Without the script there is still what crashed.
  const plain = await open(browser, files[0], { javaScriptEnabled: false });
  r.plain = await plain.locator("main").innerText();
  return r;
}

// served opens pages in two widths, in light and dark, and with the pictures taken if
// PICTURES names a directory.
async function served(browser) {
  const results = [];
  for (const width of [1280, 360]) for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, javaScriptEnabled: false });
    const page = await context.newPage();
    for (const [i, url] of files.entries()) {
      const noted = [];
      const request = (r) => { if (new URL(r.url()).origin !== new URL(url).origin) noted.push("request: " + r.url()); };
      const said = (m) => noted.push("console: " + m.text());
      page.on("request", request);
      page.on("console", said);
      const answer = await page.goto(url);
      results.push({
        url, width, colorScheme, noted, status: answer.status(),
        overflow: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        title: await page.locator("h1").innerText(), text: await page.locator("main").innerText(),
        back: await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        tree: await page.locator("body").ariaSnapshot(),
      });
      if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, `${i}-${width}-${colorScheme}.png`) });
      page.off("request", request);
      page.off("console", said);
    }
    await page.goto(files[0]);
    await page.keyboard.press("Tab");
    results.at(-1).focus = await page.evaluate(() => document.activeElement.innerText);
    await page.fill("#q", "nothing has this name");
    await Promise.all([page.waitForURL("**/groups?q=*"), page.keyboard.press("Enter")]);
    results.at(-1).found = await page.locator("main").innerText();
    await context.close();
  }
  return results;
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    const results = await { speedscope: importAll, page: openAll, large, served }[mode](browser);
    process.stdout.write(JSON.stringify(results));
  } finally {
    await browser.close();
  }
})();
