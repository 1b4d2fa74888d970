// The Inspector's command line over stdio.

import { fixture } from './fixture.mjs';
import { asking } from './inspector.mjs';

asking('over stdio', () => [fixture]);
