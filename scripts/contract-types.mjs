// The interfaces of the contract as data. Types are gone at runtime, so their text is read: it is ours, and regular.
import { readFileSync } from 'node:fs'

const INTERFACE = /export interface (\w+)(?:<[^>{]*>)?(?: extends ([\w, ]+))? \{\n([\s\S]*?)\n\}/g
const FIELD = /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?readonly (\w+)(\??): ([^\n]+)/g

/** TypeScript → what a person who writes JSON needs to know. */
const WORDS = new Map([
  ['unknown', 'any value'],
  ['readonly unknown[]', 'list'],
  ['readonly string[]', 'list of strings'],
  ['Readonly<Record<string, string | number | boolean>>', 'flat object'],
  ['string | readonly string[]', 'string or list of strings'],
  // Closed sets, whose words the note lists.
  ...['ControlPhase', 'ControlVerdict', 'ControlAction', 'ControlFailure'].map(name => [name, 'string']),
])

const plain = comment => (comment ?? '').replace(/\s*\n\s*\*?\s*/g, ' ').trim()

function fieldsOf(body) {
  return [...body.matchAll(FIELD)].map(([, about, name, , type]) => {
    const said = type.replace(/ \| (null|undefined)\b/g, '').trim()
    return { name, type: WORDS.get(said) ?? said, about: plain(about) }
  })
}

function read(file) {
  return readFileSync(new URL(`../src/contract/${file}`, import.meta.url), 'utf8')
}

/** Name → `{parents, fields}` of every interface of the contract. */
export function contractInterfaces() {
  const files = ['payloads.ts', 'hook-record.ts']
  const text = files.map(read).join('\n')
  return new Map(
    [...text.matchAll(INTERFACE)].map(([, name, parents, body]) => [
      name,
      { parents: parents?.split(', ') ?? [], fields: fieldsOf(body) },
    ]),
  )
}

/** Hook → the name of its payload's interface. */
export function payloadInterfaces() {
  const [, body] = /export interface HookPayloads \{\n([\s\S]*?)\n\}/.exec(read('payloads.ts'))
  return new Map([...body.matchAll(/^ {2}(\w+): (\w+)$/gm)].map(([, hook, name]) => [hook, name]))
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

/** The type that a field must have to be readable; `any` accepts every value. */
const KINDS = {
  ...{ string: 'text', number: 'number', boolean: 'boolean', list: 'list', 'list of strings': 'list' },
  ...{ 'any value': 'any', 'flat object': 'any', 'string or list of strings': 'any' },
}

function kindOf({ name, type }) {
  if (KINDS[type] === undefined) throw new Error(`the field ${name} has a type that the build does not know: ${type}`)
  return [name, KINDS[type]]
}

/** Hook → field → its type for the payload lint. */
export function payloadFields() {
  const interfaces = contractInterfaces()
  const kindsOf = name => {
    const { parents, fields } = interfaces.get(name)
    return [...parents.flatMap(kindsOf), ...fields.map(kindOf)]
  }
  return Object.fromEntries([...payloadInterfaces()].map(([hook, name]) => [hook, Object.fromEntries(kindsOf(name))]))
}

const IDENTITIES = ['Identity', 'DelegationIdentity']
const MIXED_IN = ['RequestParameters', 'RequestEnd', 'TurnMetadata', 'Workspace']
