import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The licenses of the packages that are part of a file we publish: their terms ask for that. */
export function licensesOf(repository, inputs) {
  const packages = new Set(inputs.map(path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean))
  return [...packages]
    .sort()
    .map(name => {
      const root = join(repository, 'node_modules', name)
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      const file = readdirSync(root).find(each => /^licen[cs]e(\.|$)/i.test(each))
      if (file === undefined) throw new Error(`${name} has no license file`)
      return `${name} ${version}\n\n${readFileSync(join(root, file), 'utf8').trim()}\n`
    })
    .join('\n----\n\n')
}
