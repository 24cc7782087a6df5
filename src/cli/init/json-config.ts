import { backupsOf, readText } from './config-file.ts'
import { describeChanges, editJson, type JsonChange, whyNotEditable } from './json-change.ts'
import { type JsonText, readJson5 } from './json5.ts'
import type { Change, Plan } from './plan.ts'

/** A file that is not there yet, before our own is in it. */
export const FRESH = '{}\n'

/** A file of a host that is JSON, or JSON5. */
export interface JsonConfig extends JsonText {
  readonly file: string
  /** Undefined where there is no such file. */
  readonly before: string | undefined
  readonly text: string
}

/** @throws Error in one line */
export async function readConfig(file: string, mayBeBlank = false): Promise<JsonConfig> {
  const before = await readText(file)
  const text = before === undefined || (mayBeBlank && before.trim() === '') ? FRESH : before
  try {
    return { file, before, text, ...readJson5(text) }
  } catch (error) {
    throw new Error(`${file}, ${(error as Error).message}; it stays as it is`, { cause: error })
  }
}

export function about<Result>({ file, value }: JsonConfig, run: (root: unknown) => Result): Result {
  try {
    return run(value)
  } catch (error) {
    throw new Error(`${file} stays as it is: ${(error as Error).message}`, { cause: error })
  }
}

/** For a file that a program cannot edit without losing something. @param otherwise why not, where the text itself lets us */
export function byHand(config: JsonConfig, changes: readonly JsonChange[], otherwise?: string): Plan | undefined {
  const { file, text } = config
  const why = whyNotEditable(text) ?? otherwise
  return why === undefined ? undefined : { kind: 'by-hand', file, why, lines: describeChanges(file, config, changes) }
}

export function edited(
  { file, before, text }: JsonConfig,
  changes: readonly JsonChange[],
): Pick<Change, 'file' | 'before' | 'after' | 'isUsers'> {
  return { file, before, after: editJson(text, changes), isUsers: true }
}

/**
 * Where nothing but our own change has been made since, what was there before comes back, byte by byte.
 *
 * @param folders go with a file that there was none of, where they are empty
 */
export async function exactUndo(
  { file, before }: JsonConfig,
  enabling: (root: unknown) => readonly JsonChange[],
  folders: readonly string[] = [],
): Promise<Partial<Change> | undefined> {
  const becomes = (old: string): boolean => {
    try {
      return editJson(old, enabling(JSON.parse(old.trim()))) === before
    } catch {
      return false
    }
  }
  for (const backup of await backupsOf(file)) {
    const old = await readText(backup)
    if (old !== undefined && becomes(old)) return { after: old, isUsers: false, restored: backup }
  }
  return becomes(FRESH) ? { after: undefined, isUsers: false, folders } : undefined
}
