// The agent that docker-compose.yml's worker runs until EVERLAP_CONFIG names a file of yours.
import { defineAgent, defineConfig } from 'everlap';
import { fileTools } from 'everlap/tools';

export const helper = defineAgent({
  name: 'helper',
  instructions: 'You help with the files in your workspace. Say shortly what you did.',
  model: process.env.EVERLAP_MODEL ?? 'gpt-5-mini',
  tools: fileTools(),
  limits: { turns: 50 },
});

export default defineConfig({ agents: [helper] });
