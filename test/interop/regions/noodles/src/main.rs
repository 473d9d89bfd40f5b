//! `regions BASE ID REGION`: reads on standard output, joined by noodles.
use std::io::Write;

use futures::TryStreamExt;
use noodles_htsget::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let client = Client::new(args[1].parse()?);
    let request = client.reads(&args[2]).add_region(args[3].parse()?);
    let reads = request.send().await?;
    let mut chunks = reads.chunks();
    while let Some(chunk) = chunks.try_next().await? {
        std::io::stdout().write_all(&chunk)?;
    }
    Ok(())
}
