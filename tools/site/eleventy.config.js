// The site is docs/ as pages, and the help of every command. Each link is checked: to
// pages and places in them in check.js, to files of the repository here.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import anchor from 'markdown-it-anchor'
import { chapters, programs } from './contents.js'

const here = path.dirname(fileURLToPath(import.meta.url))
const root = path.resolve(here, '../..')
const forge = 'https://github.com/sfcore/sfcore/blob/main/'

// help returns the help of a command and of those below it, by their names.
function help(program, words = []) {
  const text = execFileSync(path.join(process.env.PROGRAMS, program), [...words, '--help'], { encoding: 'utf8' })
  const list = text.match(/^Available Commands:\n((?: {2}\S.*\n)+)/m)?.[1] ?? ''
  const below = [...list.matchAll(/^ {2}(\S+)/gm)].map((m) => m[1]).filter((name) => !['help', 'completion'].includes(name))
  return [{ name: [program, ...words].join(' '), text }, ...below.flatMap((name) => help(program, [...words, name]))]
}

// slug names a heading as forges do, whose links are in the documents.
const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

// place returns where a link of a document leads on the site.
function place(href, source) {
  if (/^[a-z]+:|^#/i.test(href)) return href
  const [target, fragment] = href.split('#')
  const file = path.relative(root, path.resolve(path.dirname(source), target))
  if (!existsSync(path.join(root, file))) throw new Error(`${source}: there is no ${file}`)
  const hash = fragment ? `#${fragment}` : ''
  if (!/^docs\/(.*\.md$|images\/|schemas\/)/.test(file)) return forge + file + hash
  return '/' + file.slice('docs/'.length).replace(/\.md$/, '.html') + hash
}

export default function (config) {
  config.setQuietMode(true)
  config.addPassthroughCopy({ [path.join(root, 'docs/images')]: 'images', 'style.css': 'style.css' })
  if (existsSync(path.join(root, 'docs/schemas'))) config.addPassthroughCopy({ [path.join(root, 'docs/schemas')]: 'schemas' })

  config.amendLibrary('md', (md) => {
    md.set({ html: false })
    md.enable('code') // indented blocks, which Eleventy takes away
    md.use(anchor, { slugify: slug })
    md.core.ruler.push('links', (state) => {
      const source = state.env.source && path.join(root, state.env.source)
      for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
        for (const name of ['href', 'src']) {
          if (source && token.attrGet(name)) token.attrSet(name, place(token.attrGet(name), source))
        }
      }
    })
  })

  const seen = new Set()
  for (const name of readdirSync(path.join(root, 'docs'), { recursive: true }).sort()) {
    if (!name.endsWith('.md')) continue
    const file = 'docs/' + name
    const text = readFileSync(path.join(root, file), 'utf8')
    const url = name.replace(/\.md$/, '.html')
    const title = text.match(/^# (.*)/m)[1].replaceAll('`', '')
    seen.add(url)
    config.addTemplate(name, text, { layout: 'page.njk', permalink: url, title, source: file, templateEngineOverride: 'md' })
  }
  for (const program of programs) {
    const commands = help(program)
    const text = [`# Commands of ${program}`, '', ...commands.map((c) => `- [${c.name}](#${slug(c.name)})`), '']
    for (const c of commands) text.push(`## ${c.name}`, '', '````text', c.text.trimEnd(), '````', '')
    const url = `commands/${program}.html`
    seen.add(url)
    config.addTemplate(`commands/${program}.md`, text.join('\n'), { layout: 'page.njk', permalink: url, title: `Commands of ${program}`, templateEngineOverride: 'md' })
  }
  // Each page has its place in the contents, and none leads nowhere.
  const listed = chapters.flatMap((c) => c.pages.map(([url]) => url))
  for (const url of seen) if (!listed.includes(url)) throw new Error(`contents.js does not list ${url}`)
  for (const url of listed) if (!seen.has(url)) throw new Error(`contents.js lists ${url}, which is not there`)
  config.addGlobalData('chapters', chapters)

  return { dir: { input: 'pages', output: process.env.OUT }, markdownTemplateEngine: false }
}
