// Prints the section of CHANGELOG.md for a tag: node scripts/release-notes.mjs v0.1.0
import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'

/** @throws if the tag is not the version of package.json, or its section is missing or has no date yet */
export function releaseNotes(tag, version, changelog) {
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, and package.json has version ${version}`)
  const section = changelog.split(/^## /m).find(text => text.startsWith(`[${version}]`))
  const [heading = '', ...lines] = section?.split('\n') ?? []
  if (!/ - \d{4}-\d\d-\d\d$/.test(heading)) throw new Error(`CHANGELOG.md: "## [${version}] - <date>" is missing`)
  return `${lines.join('\n').trim()}\n`
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  const read = path => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
  process.stdout.write(releaseNotes(argv[2], JSON.parse(read('package.json')).version, read('CHANGELOG.md')))
}
