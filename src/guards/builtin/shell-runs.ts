import type { ShellWord } from './shell-words.ts'

/** The reason why the effect of a command is unknown. Ends a sentence that begins with "cannot be read:". */
export type ShellDoubt =
  | 'it cannot be parsed'
  | 'it is too long'
  | 'it is nested too deeply'
  | 'it holds a control character'
  | 'the name of a command comes from an expansion'
  | 'an option in front of a command is not known'
  | 'code is handed to an interpreter'
  | 'code is made while it runs'
  | 'a shell or an interpreter reads what to run'
  | 'a file of commands is sourced'
  | 'names of commands are given another meaning'
  | 'a variable is set that changes what is run'
  | 'a setting of git names a command'
  | 'it runs somewhere else'
  | 'the working directory is changed by an option'
  | 'it is a command of Windows'

/** The commands and code that a command runs besides itself. */
export interface ShellRuns {
  readonly commands?: readonly (readonly ShellWord[])[]
  readonly code?: readonly ShellWord[]
  readonly doubt?: ShellDoubt | undefined
}

export const RUNS_NOTHING: ShellRuns = {}

export function doubtful(doubt: ShellDoubt): ShellRuns {
  return { doubt }
}

/** After an unknown option, the next word may be its value instead of the command. */
export function unsure(read: { readonly isSure: boolean }): ShellDoubt | undefined {
  return read.isSure ? undefined : 'an option in front of a command is not known'
}

/** Joins the words as a program does that passes its arguments to a shell as one line. */
export function asText(words: readonly ShellWord[]): ShellWord {
  const values = words.map(word => word.value)
  if (values.includes(undefined)) return { value: undefined, start: words[0]?.start ?? '' }
  const value = values.join(' ')
  return { value, start: value }
}
