import { WrongUse } from './command.ts'

/** Undefined if not given; 0 = any free port. @throws WrongUse */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new WrongUse(`--port takes a number from 0 to 65535, got ${JSON.stringify(text.slice(0, 60))}`)
}
