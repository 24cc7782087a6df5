/** Serializes plain data to the same text, regardless of key order. */
export function canonicalJson(value: unknown): string {
  const open = new Set<object>()
  return textOf(value, open)
}

function textOf(value: unknown, open: Set<object>): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? String(value)
  if (open.has(value)) return '"…"'
  open.add(value)
  const text = Array.isArray(value)
    ? `[${value.map(each => textOf(each, open)).join()}]`
    : `{${Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, each]) => `${JSON.stringify(key)}:${textOf(each, open)}`)
        .join()}}`
  open.delete(value)
  return text
}
