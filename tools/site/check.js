// usage: node check.js SITE
//
// Says which links of a site lead to no file, or to no place in a page. Then it makes
// links relative, so that the site can be below any path, and be read from files.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const site = process.argv[2]
const pages = new Map()
for (const name of readdirSync(site, { recursive: true })) {
  if (!name.endsWith('.html')) continue
  const html = readFileSync(path.join(site, name), 'utf8')
  pages.set(name, { html, ids: new Set([...html.matchAll(/ id="([^"]*)"/g)].map((m) => decodeURIComponent(m[1]))) })
}

let links = 0
const dead = []
for (const [name, { html }] of pages) {
  const out = html.replace(/ (href|src)="([^"]*)"/g, (all, attribute, link) => {
    if (/^[a-z]+:/i.test(link)) return all
    links++
    const [to, fragment] = link.split('#')
    const file = to === '' ? name : to.startsWith('/') ? to.slice(1) : path.join(path.dirname(name), to)
    const place = fragment && decodeURIComponent(fragment)
    if (!existsSync(path.join(site, file)) || (place && !pages.get(file)?.ids.has(place))) dead.push(`${name}: ${link}`)
    return to === '' ? all : ` ${attribute}="${path.relative(path.dirname(name), file)}${fragment ? '#' + fragment : ''}"`
  })
  writeFileSync(path.join(site, name), out)
}
for (const link of dead) console.error(`dead link: ${link}`)
console.log(`${pages.size} pages, ${links} links, ${dead.length} dead`)
process.exitCode = dead.length > 0 || links === 0 ? 1 : 0
