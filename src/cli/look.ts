import type { CommandIo } from './command.ts'

const MAX_COLUMNS = 160
const PIPED_COLUMNS = 120

/** The width and colors for an output. Colors need a terminal or `FORCE_COLOR`. */
export function lookOf({ stdout, env }: Pick<CommandIo, 'stdout' | 'env'>): { width: number; color: boolean } {
  const wantsNone = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  const forced = env['FORCE_COLOR'] ?? ''
  const color = !wantsNone && (stdout.isTTY || (forced !== '' && forced !== '0'))
  // Some terminals report 0 columns.
  const columns = (stdout.columns ?? 0) || columnsOf(env['COLUMNS']) || PIPED_COLUMNS
  return { width: Math.min(MAX_COLUMNS, columns), color }
}

function columnsOf(text: string | undefined): number {
  return /^\d{1,6}$/.test(text ?? '') ? Number(text) : 0
}
