//! `regions BASE KIND ID [REGION…]`: the answer on standard output, joined by noodles.
use std::io::Write;

use futures::TryStreamExt;
use noodles_htsget::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let client = Client::new(args.next().ok_or("no base")?.parse()?);
    let kind = args.next().ok_or("no kind")?;
    let id = args.next().ok_or("no id")?;
    let mut stdout = std::io::stdout();
    if kind == "reads" {
        let mut request = client.reads(id);
        for region in args {
            request = request.add_region(region.parse()?);
        }
        let reads = request.send().await?;
        let mut chunks = reads.chunks();
        while let Some(chunk) = chunks.try_next().await? {
            stdout.write_all(&chunk)?;
        }
    } else {
        let mut request = client.variants(id);
        for region in args {
            request = request.add_region(region.parse()?);
        }
        let variants = request.send().await?;
        let mut chunks = variants.chunks();
        while let Some(chunk) = chunks.try_next().await? {
            stdout.write_all(&chunk)?;
        }
    }
    Ok(())
}
