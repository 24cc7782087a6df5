import type { AttributeRow, ValueType } from './gen-ai-table.ts'
import type { OtlpValue } from './telemetry.ts'

const TYPES: Readonly<Record<string, ValueType>> = {
  stringValue: 'string',
  boolValue: 'boolean',
  intValue: 'int',
  doubleValue: 'double',
}

/** What is wrong with a value; undefined: nothing. */
export function valueProblem({ type, values, isOpen }: AttributeRow, value: OtlpValue): string | undefined {
  const found = typeOf(value)
  if (!fits(type, found, value)) return `is ${found}, not ${type}`
  const said = value['stringValue']
  if (values === undefined || isOpen || values.includes(String(said))) return undefined
  return `has the value ${JSON.stringify(said)}, which is none of ${values.join(', ')}`
}

function typeOf(value: OtlpValue): string {
  const [key = 'nothing'] = Object.keys(value)
  if (key === 'intValue' && !Number.isSafeInteger(Number(value[key]))) return 'an int that no reader can hold'
  if (key !== 'arrayValue') return TYPES[key] ?? key
  const { values = [] } = value[key] as { readonly values?: readonly OtlpValue[] }
  const types = new Set(values.map(typeOf))
  return types.size === 0 ? 'string[]' : `${[...types].join('|')}[]`
}

function fits(type: ValueType, found: string, value: OtlpValue): boolean {
  if (type === 'any') return found === 'string'
  if (type === 'double') return found === 'double' || found === 'int'
  if (type === 'json') return found === 'string' && isJson(String(value['stringValue']))
  return found === type
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
