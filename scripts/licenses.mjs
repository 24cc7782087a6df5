import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The licenses of the packages that are part of a file we publish: their terms ask for that. Each text once, below its packages. */
export function licensesOf(repository, inputs) {
  const packages = new Set(inputs.map(path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean))
  const namesOf = new Map()
  for (const name of [...packages].sort()) {
    const root = join(repository, 'node_modules', name)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const file = readdirSync(root).find(each => /^licen[cs]e(\.|$)/i.test(each))
    if (file === undefined) throw new Error(`${name} has no license file`)
    const text = readFileSync(join(root, file), 'utf8').trim()
    namesOf.set(text, `${namesOf.get(text) ?? ''}${name} ${version}\n`)
  }
  return [...namesOf].map(([text, names]) => `${names}\n${text}\n`).join('\n----\n\n')
}
