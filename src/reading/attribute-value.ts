/** The value of an attribute. Bytes are kept as base64 text, integers beyond 2^53 as decimal text. */
export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | readonly AttributeValue[]
  | { readonly [key: string]: AttributeValue }

/** Attribute values by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>

/** Guards against hostile input: reading deeper values would overflow the stack. They are shown as an ellipsis. */
const MAX_DEPTH = 64

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Dropped<Fields> = { [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name] } & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>
}

/** Readers distinguish an absent field from one without a value. */
export function dropUndefined<Fields extends object>(fields: Fields): Dropped<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Dropped<Fields>
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function readAttributes(pairs: unknown, depth = 0): Attributes {
  // Without a prototype, `__proto__` and `constructor` are ordinary keys.
  const attributes = Object.create(null) as Record<string, AttributeValue>
  if (!Array.isArray(pairs)) return attributes
  for (const pair of pairs as readonly unknown[]) {
    if (isRecord(pair) && typeof pair['key'] === 'string') attributes[pair['key']] = readAnyValue(pair['value'], depth)
  }
  return attributes
}

function readAnyValue(value: unknown, depth = 0): AttributeValue {
  if (!isRecord(value)) return null
  if (depth > MAX_DEPTH) return '…'
  if (typeof value['stringValue'] === 'string') return value['stringValue']
  if (typeof value['boolValue'] === 'boolean') return value['boolValue']
  if (value['intValue'] !== undefined) return readInteger(value['intValue'])
  if (value['doubleValue'] !== undefined) return readDouble(value['doubleValue'])
  if (typeof value['bytesValue'] === 'string') return value['bytesValue']
  if (isRecord(value['arrayValue'])) {
    const { values } = value['arrayValue']
    return Array.isArray(values) ? values.map(each => readAnyValue(each, depth + 1)) : []
  }
  if (isRecord(value['kvlistValue'])) return readAttributes(value['kvlistValue']['values'], depth + 1)
  return null
}

function readInteger(value: unknown): AttributeValue {
  const number = typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number') return null
  return Number.isSafeInteger(number) ? number : String(value)
}

/** JSON has no NaN and no Infinity: the protobuf mapping writes them as strings. */
function readDouble(value: unknown): AttributeValue {
  if (typeof value === 'number') return value
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : null
}
