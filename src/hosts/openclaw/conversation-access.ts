import { peek } from '../../contract/foreign.ts'
import type { OpenClawApi } from './types.ts'

/** Asking for a hook that is not allowed makes the host complain at each load. */
export function mayReadConversation({ config }: Pick<OpenClawApi, 'config'>, id: string): boolean {
  if (config === undefined) return true
  const entry = peek(peek(peek(config, 'plugins'), 'entries'), id)
  return peek(peek(entry, 'hooks'), 'allowConversationAccess') === true
}

/** Loads in which nothing runs: whatever of the API is asked for throws. */
export const LIFELESS_MODES: ReadonlySet<unknown> = new Set(['setup-only', 'cli-metadata'])
