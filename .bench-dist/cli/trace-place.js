import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { stateDirectory } from '../config/paths.js';
import { whyNot } from './file-trouble.js';
/** The local trace log, or a directory for the length of this run where there is to be none, or cannot be one. */
export async function openTracePlace({ local_log }, io) {
    const whyNotKept = local_log ? await troubleWith(stateDirectory(io.env, io.home)) : 'local_log is off';
    if (whyNotKept === undefined)
        return { env: io.env, whyNotKept, close: () => Promise.resolve() };
    const directory = await mkdtemp(join(tmpdir(), 'hookspan-'));
    return {
        env: { ...io.env, XDG_STATE_HOME: directory },
        whyNotKept,
        close: () => rm(directory, { recursive: true, force: true }),
    };
}
async function troubleWith(stateHome) {
    // Without a home directory it would be a part of the working directory, which may be a repository.
    if (!isAbsolute(stateHome))
        return 'there is no home directory';
    const directory = join(stateHome, 'traces');
    try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await access(directory, constants.W_OK);
        return undefined;
    }
    catch (error) {
        return `${directory} cannot be written: ${whyNot(error)}`;
    }
}
