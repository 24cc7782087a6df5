import { stat } from 'node:fs/promises'
import { listSegments } from '../../viewer/trace-log.ts'
import { noTraceFile } from '../trace-file-kind.ts'

/**
 * The files that are meant: a directory stands for its `*.jsonl`.
 *
 * @throws when one of them is not there, or holds no traces
 */
export async function traceFiles(operands: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  for (const operand of operands) files.push(...(await filesOf(operand)))
  for (const path of files) {
    const none = await noTraceFile(path)
    if (none !== undefined) throw new Error(`there are no traces in ${path}: ${none.problem}`)
  }
  return files
}

async function filesOf(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const message = error.code === 'ENOENT' ? `there is no file ${path}` : `cannot read ${path}: ${error.code}`
    throw new Error(message, { cause: error })
  })
  if (found.isFile()) return [path]
  if (!found.isDirectory()) throw new Error(`${path} is not a regular file`)
  const files = await listSegments(path)
  if (files.length === 0) throw new Error(`there are no *.jsonl files in ${path}`)
  return files
}
