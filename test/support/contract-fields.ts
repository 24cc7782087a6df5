import { readFileSync } from 'node:fs'
import { PAYLOAD_FIELDS } from '../../src/contract/payloads.ts'
import { HOOK_NAMES, type HookName } from '../../src/index.ts'

const text = readFileSync(new URL('../../src/contract/payloads.ts', import.meta.url), 'utf8')
const parents = new Map(
  [...text.matchAll(/^export type (\w+) = Own<'\w+'>((?: & \w+)*)$/gm)].map(([, name = '', list = '']) => [
    name,
    list.split(' & ').slice(1),
  ]),
)
const payloads = new Map(
  [...text.matchAll(/^ {2}(\w+): ([A-Z]\w+)$/gm)].map(([, hook = '', name = '']) => [hook, name]),
)

function fieldsOf(name: string): string[] {
  const found = parents.get(name)
  if (found === undefined) throw new Error(`the contract has no type ${name}`)
  return [...Object.keys(PAYLOAD_FIELDS[name as keyof typeof PAYLOAD_FIELDS]), ...found.flatMap(fieldsOf)]
}

/** Every field that the contract names, per hook, read from the contract itself: a new field is tested unasked. */
export const CONTRACT_FIELDS: ReadonlyMap<HookName, readonly string[]> = new Map(
  HOOK_NAMES.map(hook => [hook, [...new Set(fieldsOf(payloads.get(hook) ?? ''))]]),
)
