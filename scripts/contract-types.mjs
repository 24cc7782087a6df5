// The payloads of the contract, from the tables of `src/contract`.
import { readFileSync } from 'node:fs'

/** A name of `ValueOf` → the type in TypeScript, the words of `docs/hooks.md`, the type for the payload lint. */
const KINDS = {
  text: ['string', 'string', 'text'],
  number: ['number', 'number', 'number'],
  boolean: ['boolean', 'boolean', 'boolean'],
  list: ['readonly unknown[]', 'list', 'list'],
  texts: ['readonly string[]', 'list of strings', 'list'],
  'text or texts': ['string | readonly string[]', 'string or list of strings', 'any'],
  flat: ['Readonly<Record<string, string | number | boolean>>', 'flat object', 'any'],
  any: ['unknown', 'any value', 'any'],
  // Closed sets, whose words the note lists.
  phase: ['ControlPhase', 'string', 'text'],
  verdict: ['ControlVerdict', 'string', 'text'],
  action: ['ControlAction', 'string', 'text'],
  failure: ['ControlFailure', 'string', 'text'],
}
const PAYLOAD = /^export type (\w+) = Own<'\w+'>((?: & \w+)*);?$/gm
const META_FIELD = /\/\*\*(.*)\*\/\n {2}readonly (\w+)\?: (\w+)/g

const read = file => readFileSync(new URL(`../src/contract/${file}`, import.meta.url), 'utf8')
const parentsIn = list => list.split(' & ').slice(1)

function fieldOf([name, row]) {
  const [, kind, orNull, about] = /^(.*?)( or null)?: (.*)$/.exec(row)
  if (KINDS[kind] === undefined) throw new Error(`the field ${name} has a type that the build does not know: ${kind}`)
  const [typeName, type, lint] = KINDS[kind]
  return { name, typeName: orNull ? `${typeName} | null` : typeName, type, lint, about }
}

/** Name → `{parents, fields}` of every type of the contract. @param table `PAYLOAD_FIELDS` */
export function contractInterfaces(table) {
  const payloads = [...read('payloads.ts').matchAll(PAYLOAD)].map(([, name, parents]) => [
    name,
    { parents: parentsIn(parents), fields: Object.entries(table[name]).map(fieldOf) },
  ])
  const meta = [...read('hook-record.ts').matchAll(META_FIELD)].map(([, about, name, type]) => ({ name, type, about }))
  const trimmed = meta.map(field => ({ ...field, about: field.about.trim() }))
  return new Map([...payloads, ['HookMeta', { parents: [], fields: trimmed }]])
}

/** Hook → the name of its payload's type. */
export function payloadInterfaces() {
  const [, body] = /export interface HookPayloads \{\n([\s\S]*?)\n\}/.exec(read('payloads.ts'))
  return new Map([...body.matchAll(/^ {2}(\w+): (\w+)$/gm)].map(([, hook, name]) => [hook, name]))
}

/** Hook → field → its type for the payload lint. */
export function payloadFields(table) {
  const interfaces = contractInterfaces(table)
  const kindsOf = name => {
    const { parents, fields } = interfaces.get(name)
    return [...parents.flatMap(kindsOf), ...fields.map(({ name, lint }) => [name, lint])]
  }
  return Object.fromEntries([...payloadInterfaces()].map(([hook, name]) => [hook, Object.fromEntries(kindsOf(name))]))
}

/** The declaration of the payloads with an interface for each type, and the description above each field, for editors. */
export function declarePayloads(declaration, table) {
  const interfaces = contractInterfaces(table)
  const types = declaration.replace(
    /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\nexport declare const [\s\S]*?\n\};\n[\s\S]*?(?=\/\*\*|export )/,
    '',
  )
  return types.replace(PAYLOAD, (_, name) => {
    const { parents, fields } = interfaces.get(name)
    const members = fields.map(
      ({ name, typeName, about }) => `    /** ${about} */\n    readonly ${name}?: ${typeName} | undefined;\n`,
    )
    const bases = parents.length === 0 ? '' : ` extends ${parents.join(', ')}`
    return `export interface ${name}${bases} {\n${members.join('').replaceAll('unknown | undefined', 'unknown')}}`
  })
}

/**
 * What a payload holds: its own fields, those that it has in common with others (`RequestParameters`), the kind of ids
 * that it carries, and the payload that it adds to.
 */
export function describePayload(interfaces, name) {
  const { parents, fields } = interfaces.get(name)
  const ids = parents.find(parent => IDENTITIES.includes(parent))
  const mixed = parents.filter(parent => MIXED_IN.includes(parent)).flatMap(parent => interfaces.get(parent).fields)
  const base = parents.find(parent => !IDENTITIES.includes(parent) && !MIXED_IN.includes(parent))
  return { ids, base, fields: [...fields, ...mixed] }
}

const IDENTITIES = ['Identity', 'DelegationIdentity']
const MIXED_IN = ['RequestParameters', 'TurnMetadata', 'Workspace']
