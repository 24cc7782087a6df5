// Copies the descriptions of keys, fields and hooks from the tables into the published declarations, for editors. The source
// has each description once.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { code } from './markdown.mjs'

const UNSET = { prometheus: 'off', hooks: 'the folder below' }

/** The default value in words. */
export function defaultOf({ default: value, fromHost, follows, type }) {
  if (follows) return `as ${code(follows)}`
  const own = typeof value === 'object' ? Object.values(value).join(', ') : value
  const shown = own === undefined || own === '' ? (UNSET[type] ?? 'none') : code(own)
  return fromHost ? `the host's name, else ${shown}` : shown
}

function rangeOf({ type, min, max, values }) {
  if (values) return ` (${type === 'list' ? 'list of ' : ''}${values.map(code).join(', ')})`
  if (max !== undefined) return ` (${min} to ${max})`
  return min === undefined ? '' : ` (${type === 'integer' || type === 'chars' ? 'whole number, ' : ''}≥ ${min})`
}

/** The description of a key and its allowed values. */
export function aboutKey(row) {
  return row.about + rangeOf(row)
}

function userConfig(declaration, { KEY_ROWS, variableOf }) {
  const properties = Object.entries(KEY_ROWS).map(
    ([key, row]) =>
      `    /** ${aboutKey(row)}. Default: ${defaultOf(row)}. Environment: \`${variableOf(key)}\` */
    readonly ${key}?: UserValue<'${key}'> | undefined;
`,
  )
  return declaration.replace(/export type UserConfig = [\s\S]*$/, () => {
    return `export interface UserConfig {\n${properties.join('')}}\n`
  })
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** Returns the declaration with a comment above each member of the interface. */
function withWords(declaration, name, words) {
  const [whole, head, body] = new RegExp(`(export interface ${name} \\{\\n)([\\s\\S]*?\\n)\\}`).exec(declaration)
  const said = body.replace(/^ {4}(?:readonly )?(\w+)/gm, (line, member) => `    /** ${words[member]} */\n${line}`)
  return declaration.replace(whole, () => `${head}${said}}`)
}

/** Returns the declaration with the name and the meaning of its hook above each payload that has no comment of its own. */
function withHooks(declaration, words) {
  const [, body] = /export interface HookPayloads \{\n([\s\S]*?\n)\}/.exec(declaration)
  return [...body.matchAll(/^ {4}(\w+): (\w+);$/gm)].reduce(
    (text, [, hook, name]) =>
      text.replace(
        new RegExp(`(?<!\\*/\n)(?=export interface ${name}\\b)`),
        () => `/** \`${hook}\`. ${words[hook]} */\n`,
      ),
    declaration,
  )
}

/** @param compiled the folder with the compiled `src` */
export async function writeWords(compiled) {
  const load = path => import(pathToFileURL(join(compiled, path)).href)
  const edit = (path, change) => writeFileSync(join(compiled, path), change(readFileSync(join(compiled, path), 'utf8')))
  const keys = await load('plugin/config/keys.js')
  const { BACKEND_FIELDS } = await load('plugin/config/backends.js')
  const { HOOKS } = await load('contract/hooks.js')
  const hooks = Object.fromEntries(Object.entries(HOOKS).map(([hook, about]) => [hook, sentence(about)]))
  edit('plugin/config/types.d.ts', text => userConfig(text, keys))
  edit('plugin/config/types.d.ts', text => withWords(text, 'UserBackend', BACKEND_FIELDS))
  edit('contract/payloads.d.ts', text => withWords(withHooks(text, hooks), 'HookPayloads', hooks))
}
