import { readFileSync } from 'node:fs'
import { HOOK_NAMES, type HookName } from '../../src/index.ts'

interface Interface {
  readonly fields: readonly string[]
  readonly parents: readonly string[]
}

const source = readFileSync(new URL('../../src/contract/payloads.ts', import.meta.url), 'utf8')
const text = source.replace(/\/\*\*[\s\S]*?\*\//g, '')

function interfacesOf(): Map<string, Interface> {
  const found = new Map<string, Interface>()
  for (const [, name = '', parents = '', body = ''] of text.matchAll(
    /interface (\w+)(?: extends ([\w, ]+))? \{([^}]*)\}/g,
  )) {
    const fields = [...body.matchAll(/^\s*(?:readonly )?(\w+)\??:/gm)].map(([, field = '']) => field)
    found.set(name, { fields, parents: parents.split(', ').filter(parent => parent !== '') })
  }
  return found
}

const interfaces = interfacesOf()
const payloads = new Map(
  [...text.matchAll(/^ {2}(\w+): ([A-Z]\w+)$/gm)].map(([, hook = '', name = '']) => [hook, name]),
)

function fieldsOf(name: string): string[] {
  const found = interfaces.get(name)
  if (found === undefined) throw new Error(`the contract has no interface ${name}`)
  return [...found.fields, ...found.parents.flatMap(fieldsOf)]
}

/** Every field that the contract names, per hook, read from the contract itself: a new field is tested unasked. */
export const CONTRACT_FIELDS: ReadonlyMap<HookName, readonly string[]> = new Map(
  HOOK_NAMES.map(hook => [hook, [...new Set(fieldsOf(payloads.get(hook) ?? ''))]]),
)
