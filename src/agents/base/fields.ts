import { peek } from '../../contract/foreign.ts'

/** Copies the fields that have a value. They need not be enumerable. */
export function pickFields(value: unknown, fields: readonly string[]): Record<string, unknown> {
  const entries = fields.map(name => [name, peek(value, name)] as const)
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined))
}
