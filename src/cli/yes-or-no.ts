import { createInterface } from 'node:readline'
import type { CommandIo } from './command.ts'

/** Asks the user on the terminal. Any answer but yes is no. */
export async function saysYes(question: string, io: CommandIo): Promise<boolean> {
  io.stderr.write(`\n${question} [y/N] `)
  const answer = await firstLine(io)
  if (answer === undefined) io.stderr.write('\n')
  return /^\s*y(es)?\s*$/i.test(answer ?? '')
}

/** Undefined if the input ends first. */
async function firstLine({ stdin }: CommandIo): Promise<string | undefined> {
  const lines = createInterface({ input: stdin })
  try {
    for await (const line of lines) return line
    return undefined
  } finally {
    // An open reader would keep the process alive.
    lines.close()
  }
}
