import type { Environment } from './paths.ts'
import { emptyMap, isPlainMap, type Plain, Unusable } from './plain.ts'

// `$${` stands for a literal `${`.
const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/** Expands `${VAR}` and `${VAR:-default}` in every string of a file. An unset variable makes the string unusable. */
export function expandVariables(value: Plain, env: Environment): Plain {
  if (typeof value === 'string') return expandText(value, env)
  if (Array.isArray(value)) return value.map(element => expandVariables(element, env))
  if (!isPlainMap(value)) return value
  const expanded = emptyMap<Plain>()
  for (const [name, entry] of Object.entries(value)) expanded[name] = expandVariables(entry, env)
  return expanded
}

/** True if the file contains the secret itself, not a reference to a variable. */
export function isLiteral(text: string): boolean {
  return text.trim() !== '' && !/(^|[^$])\$\{/.test(text)
}

function expandText(text: string, env: Environment): string | Unusable {
  let fault: Unusable | undefined
  const expanded = text.replace(REFERENCE, (reference: string, inside: string | undefined) => {
    if (inside === undefined) return '${'
    const found = look(inside, reference, env)
    if (typeof found === 'string') return found
    fault ??= found
    return ''
  })
  return fault ?? expanded
}

function look(inside: string, reference: string, env: Environment): string | Unusable {
  const [, name, fallback] = reference.endsWith('}') ? (NAME.exec(inside) ?? []) : []
  // The text between the braces is not shown: it may be a secret.
  if (name === undefined) return new Unusable('text', 'it holds a "${" that no name of a variable follows')
  const held = env[name]
  // `:-` also replaces an empty value, as in a shell.
  if (fallback !== undefined) return held === undefined || held === '' ? fallback : held
  return held ?? new Unusable('text', `the variable ${name} is not set`)
}
