import { createInterface } from 'node:readline'
import type { CommandIo } from './command.ts'

/** Asks the person at the terminal, below what was shown. Whatever is not yes is no. */
export async function saysYes(question: string, io: CommandIo): Promise<boolean> {
  io.stderr.write(`\n${question} [y/N] `)
  const answer = await firstLine(io)
  if (answer === undefined) io.stderr.write('\n')
  return /^\s*y(es)?\s*$/i.test(answer ?? '')
}

/** Undefined where the input ends before one. */
async function firstLine({ stdin }: CommandIo): Promise<string | undefined> {
  const lines = createInterface({ input: stdin })
  try {
    for await (const line of lines) return line
    return undefined
  } finally {
    // Else the process waits for the next one.
    lines.close()
  }
}
