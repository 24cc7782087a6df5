import { backupsOf, readText } from './config-file.ts'
import { describeChanges, editJson, type JsonChange, type JsonText, NotEditable, readJson } from './json-text.ts'
import type { Change, Plan } from './plan.ts'

/** The content of a missing file before our changes. */
export const FRESH = '{}\n'

export interface JsonConfig extends JsonText {
  readonly file: string
  /** Undefined if the file does not exist. */
  readonly before: string | undefined
  readonly text: string
}

/** @throws Error in one line */
export async function readConfig(file: string, mayBeBlank = false): Promise<JsonConfig> {
  const before = await readText(file)
  const text = before === undefined || (mayBeBlank && before.trim() === '') ? FRESH : before
  try {
    return { file, before, text, ...readJson(text) }
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

/** Instructions for a file that cannot be edited safely. @param otherwise a further reason against editing */
export function byHand(config: JsonConfig, changes: readonly JsonChange[], otherwise?: string): Plan | undefined {
  const { file, text } = config
  const why = whyNotEditable(text, changes) ?? otherwise
  return why === undefined ? undefined : { kind: 'by-hand', file, why, lines: describeChanges(file, config, changes) }
}

function whyNotEditable(text: string, changes: readonly JsonChange[]): string | undefined {
  try {
    editJson(text, changes)
    return undefined
  } catch (error) {
    if (error instanceof NotEditable) return error.message
    throw error
  }
}

export function edited(
  { file, before, text }: JsonConfig,
  changes: readonly JsonChange[],
): Pick<Change, 'file' | 'before' | 'after' | 'isUsers'> {
  return { file, before, after: editJson(text, changes), isUsers: true }
}

/**
 * Restores the original byte by byte if only our change was made since.
 *
 * @param folders removed if empty, together with a file that did not exist before
 */
export async function exactUndo(
  { file, before }: JsonConfig,
  enabling: (root: unknown) => readonly JsonChange[],
  folders: readonly string[] = [],
): Promise<Partial<Change> | undefined> {
  const becomes = (old: string): boolean => {
    try {
      return editJson(old, enabling(readJson(old).value)) === before
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
