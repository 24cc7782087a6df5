import { FIELDS, HOOK_NAMES, type HookName } from '../../src/contract/index.ts'

/** Every field that the contract names, per hook, read from the contract itself: a new field is tested unasked. */
export const CONTRACT_FIELDS: ReadonlyMap<HookName, readonly string[]> = new Map(
  HOOK_NAMES.map(hook => [hook, Object.keys(FIELDS[hook])]),
)
