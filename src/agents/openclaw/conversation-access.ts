import { peek } from '../../contract/foreign.ts'
import type { OpenClawApi } from './types.ts'

/** Returns true if the configuration allows conversation hooks: registering a forbidden hook makes the host warn at each load. */
export function mayReadConversation({ config }: Pick<OpenClawApi, 'config'>, id: string): boolean {
  if (config === undefined) return true
  const entry = peek(peek(peek(config, 'plugins'), 'entries'), id)
  return peek(peek(entry, 'hooks'), 'allowConversationAccess') === true
}

/** Load modes in which nothing runs and every use of the API throws. */
export const LIFELESS_MODES: ReadonlySet<unknown> = new Set(['setup-only', 'cli-metadata'])
