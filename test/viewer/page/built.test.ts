import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { readPageFiles } from '../../../src/viewer/server/server.ts'
import { REPOSITORY } from '../../cli/program.ts'

const FOLDER = join(REPOSITORY, 'dist', 'page')
const texts = readdirSync(FOLDER).map(name => ({ name, text: readFileSync(join(FOLDER, name), 'utf8') }))

/** The parts that `page.js` imports before it runs. Those that it imports later are calls: `import("./part-…")`. */
const imported = texts
  .filter(({ name }) => name === 'page.js')
  .flatMap(({ text }) => [...text.matchAll(/(?:from|import)"\.\/(part-\w+\.js)"/g)].map(([, name]) => name))

test('has at most 150 KB packed, and a third of that at first', () => {
  const packed = (files: typeof texts): number => files.reduce((sum, { text }) => sum + gzipSync(text).length, 0)
  expect(packed(texts)).toBeLessThan(150_000)
  const isFirst = ({ name }: { readonly name: string }): boolean => !name.startsWith('part-') || imported.includes(name)
  expect(packed(texts.filter(isFirst))).toBeLessThan(50_000)
})

test('contains nothing from elsewhere', () => {
  const names = texts
    .filter(({ name }) => name !== 'licenses.txt')
    .flatMap(({ text }) => text.match(/https?:\/\/[\w.-]+/g) ?? [])
  // A namespace is a name that looks like an address, and is asked of nobody.
  expect([...new Set(names)].filter(name => name !== 'http://www.w3.org')).toEqual([])
})

test('has no script and no style of its own in its markup', () => {
  const index = texts.find(({ name }) => name === 'index.html')?.text ?? ''
  expect(index).toMatch(/<script type="module" src="\/page\.js"><\/script>/)
  expect(index).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/)
})

test('has the licences of its contents', () => {
  const licenses = texts.find(({ name }) => name === 'licenses.txt')?.text ?? ''
  for (const name of ['preact', '@preact/signals'] as const) {
    expect(licenses).toContain(`${name} ${packageJson.devDependencies[name]}\n`)
  }
})

test('has a type for every file that a browser requests', () => {
  const served = readPageFiles(FOLDER)
  expect([...served.keys()].sort()).toEqual(
    texts
      .map(({ name }) => `/${name}`)
      .filter(path => path !== '/licenses.txt')
      .sort(),
  )
})
