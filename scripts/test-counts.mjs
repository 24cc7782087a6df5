import { join } from 'node:path'

/**
 * Where whoever runs several vitests is told what each has come to (`HOOKSPAN_TEST_COUNTS`, a directory): vitest's arguments
 * for a report of its own beside the one that is read.
 *
 * @param {string} name of the run, among those that report to the same directory
 */
export function countedAs(name) {
  const directory = process.env.HOOKSPAN_TEST_COUNTS
  if (!directory) return []
  return ['--reporter=default', '--reporter=json', `--outputFile.json=${join(directory, `${name}.json`)}`]
}
